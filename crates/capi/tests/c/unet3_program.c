/* A program in the style of uNet3: one task sends and another receives, with the calls of net_hdr.h.
 *
 * The one rule: every byte arrives, and the sizes of segments follow from the configuration.
 */
#include "cable_system.h"
#include "kernel.h"
#include "net_cfg.h"
#include "net_hdr.h"
#include "net_strlib.h"

#define TOTAL 200000u

static fp_socket_t listener, accepted = -1, sender = -1;
static UW received, sent_back;
static volatile ER result = 1;
static unsigned largest;

int peer_step(void)
{
    static uint8_t bytes[4096];
    struct fp_address to = cable_address(1, 12345);
    int32_t count;
    if (listener == 0) {
        struct fp_address at = cable_address(2, 10000);
        listener = fp_socket(cable_peer.stack, FP_SOCK_STREAM);
        CHECK(fp_bind(cable_peer.stack, listener, &at) == 0);
        CHECK(fp_listen(cable_peer.stack, listener, 1) == 0);
    }
    if (accepted < 0)
        accepted = fp_accept(cable_peer.stack, listener, NULL);
    if (sender > 0 && sent_back < TOTAL) {
        count = fp_send(cable_peer.stack, sender, bytes,
                        TOTAL - sent_back < sizeof bytes ? TOTAL - sent_back : sizeof bytes, 0);
        sent_back += count > 0 ? (UW)count : 0;
        if (sent_back == TOTAL)
            fp_shutdown(cable_peer.stack, sender, FP_SHUT_WR);
        return count > 0;
    }
    if (sender == 0) {
        sender = fp_socket(cable_peer.stack, FP_SOCK_STREAM);
        CHECK(fp_connect(cable_peer.stack, sender, &to) == -FP_EINPROGRESS);
        return 1;
    }
    if (accepted > 0 && (count = fp_recv(cable_peer.stack, accepted, bytes, sizeof bytes, 0)) > 0)
        received += (UW)count;
    else
        return 0;
    return 1;
}

static void watch(const uint8_t *frame, size_t len)
{
    (void)frame;
    if (len > largest)
        largest = (unsigned)len;
}

static SID open_socket(UH port)
{
    T_NODE host = {0};
    ER ercd;
    host.num = 1;
    host.ver = IP_VER4;
    host.ipa = INADDR_ANY;
    host.port = port;
    ercd = cre_soc(IP_PROTO_TCP, &host);
    CHECK(ercd > 0);
    return (SID)ercd;
}

static void SendTask(VP_INT exinf)
{
    static char buf[32768];
    T_NODE remote = {0};
    SID sid = open_socket(PORT_ANY);
    UW total = 0;
    (void)exinf;
    remote.ipa = ip_aton("10.0.0.2");
    remote.port = 10000;
    CHECK(con_soc(sid, &remote, SOC_CLI) == E_OK);
    while (total < TOTAL) {
        ER ercd = snd_soc(sid, buf, (UH)(TOTAL - total < sizeof buf ? TOTAL - total : sizeof buf));
        CHECK(ercd > 0);
        total += (UW)ercd;
    }
    CHECK(cls_soc(sid, SOC_TCP_CLS) == E_OK && del_soc(sid) == E_OK);
    CHECK(snd_soc(sid, buf, 1) == E_ID && del_soc(sid) == E_ID && con_soc(99, &remote, 0) == E_ID);
    result = E_OK;
    ext_tsk();
}

static void ReceiveTask(VP_INT exinf)
{
    static char buf[32768];
    T_NODE remote = {0};
    SID sid = open_socket(12345);
    UW total = 0;
    ER ercd;
    (void)exinf;
    sender = 0;
    CHECK(con_soc(sid, &remote, SOC_SER) == E_OK);
    CHECK(cfg_soc(sid, SOC_TMO_RCV, (VP)60000) == E_OK);
    while ((ercd = rcv_soc(sid, buf, sizeof buf)) > 0)
        total += (UW)ercd;
    CHECK(ercd == 0 && total == TOTAL);
    CHECK(cls_soc(sid, SOC_TCP_CLS) == E_OK && del_soc(sid) == E_OK);
    result = E_OK;
    ext_tsk();
}

static void run(FP task, const char *name)
{
    T_CTSK created = {TA_HLNG | TA_ACT | TA_FPU, (VP_INT)0, task, 5, 0x400, 0, name};
    result = 1;
    CHECK(acre_tsk(&created) > 0);
    while (result != E_OK)
        tslp_tsk(1);
}

int main(void)
{
    static const T_COM_SMOD mode = {115200};
    uint64_t start;
    CHECK(ini_com(ID_UART, &mode) == E_OK && ctr_com(ID_UART, STA_COM, 0) == E_OK);
    CHECK(net_setup() == E_OK);
    cable_local.watch = watch;
    start = cable_now_us;
    run(SendTask, "SendTask");
    printf("sent in %llu ms, longest frame %u bytes\n",
           (unsigned long long)(cable_now_us - start) / 1000, largest);
    CHECK(largest == (CFG_TCP_SND_WND < 1460 ? CFG_TCP_SND_WND : 1460) + 54);
    cable_wait_us(2000000);
    CHECK(received == TOTAL);
    start = cable_now_us;
    run(ReceiveTask, "ReceiveTask");
    printf("received in %llu ms\n", (unsigned long long)(cable_now_us - start) / 1000);
    puts_com_opt("end\r\n");
    cable_end();
    return 0;
}
