"""Makes different captures by the simulator, with an empty, a corrupt and a large one among them.

    python python/bench/captures.py FOLDER COUNT LARGE PATH-OF-FULLPIPE

Each capture is one transfer: sizes, delays and send buffers differ. LARGE is
the payload of the largest capture, such as 3900M; 0 for none.
"""

import hashlib
import os
import pathlib
import subprocess
import sys

SIZES = ["256K", "512K", "768K", "1M", "1536K"]
BUFFERS = ["16K", "24K", "32K", "48K"]


def call(*arguments):
    """Runs a command without its output."""
    subprocess.run([str(argument) for argument in arguments], stdout=subprocess.DEVNULL, check=True)


def transfers(program, folder, size, count):
    """Makes `count` captures of transfers of `size`."""
    prefix = folder / f"t{size}.toml"
    call(program, "try", "--rate", "100mbit", "--rtt", "5ms", "--loss", "0.1%", "--preset", "linux",
         "--bytes", size, "--save", prefix)
    delays = -(-count // len(BUFFERS))
    call(program, "lab", "run", prefix, "--quick", "--pcap", folder,
         "--sweep", f"link.delay=1ms..{delays}ms+1ms",
         "--sweep", f"host.tcp.send_buffer={','.join(BUFFERS)}")
    made = sorted(folder.glob(f"t{size}-*.pcapng"))
    for extra in made[count:]:
        extra.unlink()
    prefix.unlink()


def main():
    """Makes the captures and prints their number, size and number of different contents."""
    folder, count, large = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    program = pathlib.Path(sys.argv[4]).resolve()
    folder.mkdir(parents=True)
    for place, size in enumerate(SIZES):
        transfers(program, folder, size, (count + place) // len(SIZES))
    whole = sorted(folder.iterdir())[0].read_bytes()
    (folder / "empty.pcapng").touch()
    (folder / "corrupt.pcapng").write_bytes(os.urandom(1_000_000))
    (folder / "damaged.pcapng").write_bytes(whole[: len(whole) // 2] + bytes(10_000))
    if large != "0":
        path = folder / "large.toml"
        call(program, "try", "--rate", "10gbit", "--rtt", "1ms", "--preset", "linux",
             "--bytes", large, "--save", path)
        call(program, "lab", "run", path, "--quick", "--pcap", folder)
        path.unlink()
    files = sorted(folder.iterdir())
    sizes = [file.stat().st_size for file in files]
    contents = {hashlib.sha256(f.read_bytes()).digest() for f in files if f.stat().st_size < 1e8}
    print(f"{len(files)} files, {sum(sizes) / 1e9:.2f} GB, the largest {max(sizes) / 1e9:.2f} GB; "
          f"{len(contents)} different contents of those below 100 MB")


if __name__ == "__main__":
    main()
