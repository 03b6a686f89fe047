"""Makes different captures by the simulator and by this machine's kernel, with an empty, a corrupt, a
damaged and a large one among them.

    python python/bench/captures.py FOLDER COUNT LARGE PATH-OF-FULLPIPE

COUNT captures are simulated. Each is one transfer: sizes, delays and rates differ. If run as root,
also records a transfer of the kernel between two network namespaces for every 50 simulated
captures. LARGE is the payload of the largest capture, such as 3900M; 0 for none.
"""

import hashlib
import os
import pathlib
import subprocess
import sys

SIZES = ["1M", "2M", "3M", "4M", "6M"]
RATES = ["20mbit", "50mbit", "100mbit", "150mbit"]
# Number of simulated captures for each capture of the kernel.
EACH = 50


def call(*arguments):
    """Runs a command without its output."""
    subprocess.run([str(argument) for argument in arguments], stdout=subprocess.DEVNULL, check=True)


def transfers(program, folder, size, count):
    """Makes `count` captures of transfers of `size`, and some by the kernel."""
    experiment = folder / f"t{size}.toml"
    call(program, "try", "--rate", "100mbit", "--rtt", "5ms", "--loss", "0.1%", "--preset", "linux",
         "--bytes", size, "--save", experiment)
    run = [program, "lab", "run", experiment, "--quick", "--pcap", folder, "--sweep"]
    if os.geteuid() == 0:
        call(*run, f"link.delay=1ms..{-(-count // EACH)}ms+1ms", "--hosts", "kernel")
        for simulated in set(folder.glob(f"t{size}-*")) - set(folder.glob("*-kernel.pcapng")):
            simulated.unlink()
    call(*run, f"link.delay=1ms..{-(-count // len(RATES))}ms+1ms",
         "--sweep", f"link.rate={','.join(RATES)}")
    made = sorted(set(folder.glob(f"t{size}-*")) - set(folder.glob("*-kernel.pcapng")))
    for extra in made[count:]:
        extra.unlink()
    experiment.unlink()


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
    kernel = len(list(folder.glob("*-kernel.pcapng")))
    print(f"{len(files)} files, {kernel} of the kernel, {sum(sizes) / 1e9:.2f} GB, the largest {max(sizes) / 1e9:.2f} GB; "
          f"{len(contents)} different contents among the files below 100 MB")


if __name__ == "__main__":
    main()
