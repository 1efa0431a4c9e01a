"""Everything known about one MPI's peculiarities: where it lies, how it compiles, how it launches.

Each quirk stands with the version it was seen with and what happens without it. The rest of plait asks an `Mpi`
object and knows no names.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from plait.error import PlaitError
from plait.guess import did_you_mean

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("mpich", "openmpi", "impi", "system")


class MpiError(PlaitError):
    """Something the user can mend; its text is one clear line."""


@dataclass(frozen=True)
class Job:
    """What a launch line depends on."""

    processes: int
    threads: int
    nodes: tuple[tuple[str, int], ...] = ()  # simulated nodes and how many processes each gets; () is this machine
    pin: str = ""  # what processes are bound to: "core", "hwthread" or nothing
    share: int = 1  # how many of these each process gets
    oversubscribed: bool = False  # more threads than the cores that may be used
    remote_shell: str = ""  # takes ssh's place toward simulated nodes
    one_node: bool = True  # all processes on this machine
    scratch: str = ""  # a folder of the job's own, gone with it
    exported: tuple[str, ...] = ()  # environment variables that must reach every process
    lends: bool = False  # its processes lend cores to each other


@dataclass(frozen=True)
class Noise:
    """A message of the launcher, not of the program: whole lines, from `opening` (all of them) to `closing`."""

    opening: tuple[str, ...]
    closing: str | None = None  # None: the opening is all there is
    begins: str = ""  # where it may also follow upon a line of the program's that has no end: its first characters


@dataclass(frozen=True)
class Cause:
    """Why a job ended badly: the signal that ended a process, and its rank where that is known."""

    signal: int
    rank: int | None = None


@dataclass(frozen=True)
class Mpi:
    name: str  # as the user types it
    folder: Path | None  # .mpi/<name>; None for the system's

    family = ""
    title = ""
    noise: ClassVar[tuple[Noise, ...]] = ()
    # What a launcher says of a process that a signal ended: groups `rank` (may be missing) and `signal`.
    ended_by_signal = ""
    # What it says when a node is gone, the launcher's own process there with it: group `node` (may be missing).
    node_gone = ""
    # Names of what it keeps in /dev/shm while a job runs, and leaves there when that ends badly.
    segments = ""
    # And in /tmp.
    files = ""

    # -- where things are

    def built(self, file: Path) -> Path:
        """Something of the build's, if it is there."""
        if not file.exists():
            raise MpiError(f"{file.name} is not built for this MPI yet; type: make MPI={self.name}")
        return file

    def program(self, name: str) -> Path:
        return self.built(self.build / "bin" / name)

    @cached_property
    def bin(self) -> Path:
        return self.folder / "bin" if self.folder else Path(_system_mpicc()).parent

    @cached_property
    def mpiexec(self) -> str:
        beside = self.bin / "mpiexec"
        found = str(beside) if beside.exists() else shutil.which("mpiexec")
        if not found:
            raise MpiError(f"no mpiexec beside {self.bin / 'mpicc'} nor on the PATH")
        return found

    @property
    def installed(self) -> bool:
        return self.folder is None or (self.folder / ".installed").exists()

    @cached_property
    def version(self) -> str:
        """The release, from mpi.h."""
        macros = _macros(self.compiler("c", [])[0], self.include_flags())
        if self.family == "openmpi":
            return ".".join(macros.get(f"OMPI_{part}_VERSION", "?") for part in ("MAJOR", "MINOR", "RELEASE"))
        return macros.get("I_MPI_VERSION" if self.family == "impi" else "MPICH_VERSION", "?").strip('"')

    def has_header(self, header: str) -> bool:
        line = [self.compiler("c", [])[0], *self.include_flags(), "-fsyntax-only", "-x", "c", "-"]
        return subprocess.run(line, input=f"#include <{header}>\n", text=True, capture_output=True, check=False).returncode == 0

    @property
    def build(self) -> Path:
        return ROOT / "build" / self.name

    @property
    def library(self) -> Path:
        """libplait.so; there once `make` has built it."""
        return self.build / "lib" / "libplait.so"

    # -- compiling

    def plait_flags(self, arguments: list[str]) -> list[str]:
        """What plait adds in front of a compiler's `arguments`: its headers and, where they link, libplait.so."""
        # GASPI's headers are included by their bare names.
        flags = [f"-I{ROOT / 'include'}", f"-I{ROOT / 'include/plait'}"]
        if links(arguments):
            # Before everything else, the MPI too, or its functions would not be those that a program calls. A linker that
            # drops libraries as not needed would drop one that comes before the objects.
            folder = self.library.parent
            flags += [f"-L{folder}", f"-Wl,-rpath,{folder}", "-Wl,--push-state,--no-as-needed", "-lplait", "-Wl,--pop-state"]
        return flags

    def include_flags(self) -> list[str]:
        return []

    def compiler(self, language: str, arguments: list[str], show: bool = False) -> list[str]:
        """The command that compiles: `language` is "c" or "c++"; with `show`, one that prints the command instead."""
        wrapper = self.bin / ("mpicc" if language == "c" else "mpicxx")
        return [str(wrapper), *(["-show"] if show else []), *arguments]

    # -- launching

    def launch(self, job: Job, program: list[str]) -> list[str]:
        raise NotImplementedError

    def why_no_nodes(self) -> str | None:
        """Why this MPI cannot be trusted between simulated nodes; None where it can."""
        return None

    def needs(self) -> dict[str, str]:
        """Environment without which this MPI does not work; it replaces the user's."""
        return {}

    def settings(self, job: Job) -> dict[str, str]:
        """Environment that makes `job` run well; the user's own settings go before it."""
        if job.oversubscribed:
            # libgomp 12: threads that wait by spinning hold the cores that MPI needs. 2 x 2 on two cores: a ping-pong
            # takes 50 ms instead of 30 us, on every MPI.
            return {"OMP_WAIT_POLICY": "passive"}
        if job.lends:
            # No places: OpenMP would put threads for the cores of others there, and more than one of its own to a place. libomp's
            # threads that wait would hold the core that their process lends for 200 ms.
            return {"KMP_BLOCKTIME": "0"}
        if job.pin and job.threads > 1:
            return {"OMP_PLACES": "cores" if job.pin == "core" else "threads", "OMP_PROC_BIND": "close"}
        return {}

    def cause(self, said: str) -> Cause | None:
        """The signal that ended a process, from what the launcher said."""
        found = re.search(self.ended_by_signal, said)
        if not found:
            return None
        rank = found.groupdict().get("rank")
        return Cause(int(found["signal"]), int(rank) if rank else None)

    def lost(self, said: str) -> str | None:
        """The node that is gone, in words, from what the launcher said."""
        if not self.node_gone or not (found := re.search(self.node_gone, said)):
            return None
        node = found.groupdict().get("node")
        return f"node {node}" if node else "a node"


class Mpich(Mpi):
    family = "mpich"
    title = "MPICH"
    # 5.0.2: printed on standard output when a process ends with a signal, 4.0.2 on any non-zero status.
    noise = (
        Noise(("", r"={60,}", r"=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES"), r"={60,}"),
        Noise((r"={60,}", r"=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES"), r"={60,}"),
        Noise((r"YOUR APPLICATION TERMINATED WITH THE EXIT STRING: .*",)),
        Noise((r"This typically refers to a problem with your application\.",)),
        Noise((r"Please see the FAQ page for debugging suggestions",)),
        # 5.0.2, several nodes: the launcher's own story of how it ended after a process was ended by a signal, or a node was gone.
        # Those of two nodes may begin in one line.
        Noise((r"\[proxy:\S+\] (\[proxy:\S+\] )*(HYD|main ).*(\(!closed\) failed|returned error status|demux engine error.*)",)),
        # 5.0.2: ended by its own signal in the midst of such a line, one time in thirty.
        Noise((r"(\[proxy:\S+\] ?)+",)),
        Noise((r"HYD\w+ \(\S+/hydra/\S+\): (assert \(!closed\) failed|callback returned error status)",)),
        Noise((r"\[mpiexec@\S+\] (HYD|control_cb |main ).*(terminated badly; aborting|error waiting for \w+|error status|failed)",)),
        Noise((r"\[mpiexec@\S+\] Exit codes: .*",), begins="[mpiexec@"),
    )
    # Signal 9 is the launcher's own, for those that outlived the first.
    ended_by_signal = r"EXIT STRING: .*\(signal (?P<signal>(?!9\))\d+)\)"
    node_gone = r"\[mpiexec@\S+\] control_cb .*assert \(!closed\) failed"
    files = r"hydra_hwloc_xmlfile_\w{6}"
    segments = r"mpich_shm_[0-9a-f]+_\d+|mpich_shar_tmp\w{6}|ucx_shm_posix_[0-9a-f]+"

    def compiler(self, language: str, arguments: list[str], show: bool = False) -> list[str]:
        # 5.0.2: its mpicc puts its folders into the compiler's line without quotes.
        if arguments and self.folder and any(map(str.isspace, str(self.folder))):
            raise MpiError(f"MPICH's mpicc cannot work in a folder with a space ({self.folder}): move the checkout, or take --mpi openmpi")
        return super().compiler(language, arguments, show)

    def cause(self, said: str) -> Cause | None:
        # 5.0.2, in one run of ten, names a process that wrote to its launcher when that had begun to end the job (signal 13), and
        # no ranks. What -print-all-exitcodes adds has all processes in the order of their ranks, as wait() gives them.
        told = re.search(r"Exit codes: \[\S+\] ([\d,]+)", said)
        if not told:
            return super().cause(said)
        ends = [int(end) for end in told[1].split(",")]
        signals = [(end & 0x7F, rank) for rank, end in enumerate(ends) if end & 0x7F]
        own = [found for found in signals if found[0] not in (signal.SIGKILL, signal.SIGPIPE, signal.SIGTERM)]
        if own:
            return Cause(*own[0])
        # By one of these three the launcher itself may have ended a process, after another one's end.
        return Cause(*signals[0]) if len(signals) == 1 and len(ends) - ends.count(0) == 1 else None

    def launch(self, job: Job, program: list[str]) -> list[str]:
        # With several nodes it writes a line for each, which could as well be the program's, and after a bad end none.
        line = [self.mpiexec, *(["-print-all-exitcodes"] if job.one_node else [])]
        if job.nodes:
            hosts = ",".join(f"{node}:{count}" for node, count in job.nodes)
            line += ["-launcher", "ssh", "-launcher-exec", job.remote_shell, "-hosts", hosts]
        return [*line, "-n", str(job.processes), *program]

    def why_no_nodes(self) -> str | None:
        # 4.0.2 (Debian 12, over UCX 1.13 and TCP): in one run of four a process waits in MPI_Finalize for its connections
        # to close while the others are at the launcher's barrier already and answer no more. No setting of UCX and no
        # barrier before it helps. 5.0.2 does not.
        release = [int(part) for part in re.findall(r"\d+", self.version)[:2]]
        return f"MPICH {self.version} now and then hangs in MPI_Finalize between nodes; take --mpi mpich" if release < [4, 1] else None

    def settings(self, job: Job) -> dict[str, str]:
        settings = super().settings(job)
        # Hydra binds nothing unless told to; on oversubscribed cores that is right. Told by -bind-to, 5.0.2 ends the job in MPI_Comm_spawn.
        if job.pin:
            settings |= dict.fromkeys(("HYDRA_BINDING", "HYDRA_MAPPING"), f"{job.pin}:{job.share}")
        if job.nodes and int(os.environ.get("MPIR_CVAR_CH4_NUM_VCIS", "1")) > 1:
            # 5.0.2 with UCX and several VCIs hangs between nodes, even with one thread; over libfabric it runs.
            settings |= {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"}
        return settings


class OpenMpi(Mpi):
    family = "openmpi"
    title = "Open MPI"
    # 5.0.11: after the program's own error, a banner between two rules. MPI_Abort's own banner is let through: it
    # is all that tells of the abort.
    noise = (
        Noise((r"-{60,}", r"(prterun|mpirun|mpiexec) (detected that one or more|noticed that process|has exited due to).*"), r"-{60,}"),
        Noise((r"-{60,}", r"Primary job +terminated normally, but .*"), r"-{60,}"),
        # 5.0.11: when a node is gone. Its status is 0 then.
        Noise(
            (r"-{60,}", r"(A daemon failed to report back after being spawned|PRTE has lost communication with a remote daemon).*"),
            r"-{60,}",
        ),
        # 5.0.11: now and then, when the daemon is gone before its clients.
        Noise((r"\[[^]]*:\d+\] PMIX ERROR: PMIX_ERR_UNREACH in file .*",)),
        # 5.0.11: now and then, when a connection is gone before its loop has let go of it.
        Noise((r"\[warn\] Epoll \S+ on fd \d+ failed\..*",)),
        # 4.1.4 and now and then 5.0.11, several nodes: the remote shell had started before its launcher looked.
        Noise((r"\[[^]]*:\d+\] plm:[rs]sh: Warning: setpgid\(\d+,\d+\) failed in parent with errno=.*",)),
    )
    ended_by_signal = r"process rank (?P<rank>\d+) with PID \d+ on node \S+ exited on\s+signal (?P<signal>\d+)"
    node_gone = r"(Remote host:|Remote daemon:.* on node) +(?P<node>\S+)"
    segments = r"(sm|vader)_segment\.\S+|open_mpi\.\d+|ucx_shm_posix_[0-9a-f]+"

    def settings(self, job: Job) -> dict[str, str]:
        settings = super().settings(job)
        if self.major >= 5 and job.one_node and not any(Path("/sys/class", kind).exists() for kind in ("infiniband", "cxi", "gni")):
            # 5.0.11: where this part, for one-sided calls over a fabric, finds none, it sleeps for 1 s in MPI_Init.
            settings["OMPI_MCA_btl"] = "^ofi"
        return settings

    def launch(self, job: Job, program: list[str]) -> list[str]:
        # As root it refuses to run without the first.
        line = [self.mpiexec, "--allow-run-as-root"]
        # One process has all cores anyway. Where they are bound, processes that these start later have to share cores with them; 5.0.11
        # refuses that where each has several (PE=2).
        pin = job.pin if job.processes > 1 else ""
        # More processes than cores are refused without OVERSUBSCRIBE, and bound processes would share one core.
        mapping = "slot:OVERSUBSCRIBE"
        if pin == "core":
            mapping = f"slot:PE={job.share}:OVERSUBSCRIBE"
        elif pin == "hwthread":
            mapping = f"slot:PE={job.share}:HWTCPUS:OVERSUBSCRIBE"
        line += ["--map-by", mapping, "--bind-to", f"{pin}:overload-allowed" if pin else "none"]
        if job.oversubscribed:
            # 5.0.11: waits by spinning otherwise: 8 ranks on 2 cores are 150 times slower.
            line += ["--mca", "mpi_yield_when_idle", "1"]
        if job.scratch and self.major >= 5:
            # 5.0.11: its daemons' folders are named by process ids only and stay behind when a job is killed. On
            # simulated nodes the ids are the same every time, and the next job ends with status 213. There /dev/shm
            # is the node's own.
            line += ["--prtemca", "prte_local_tmpdir_base", job.scratch, "--prtemca", "prte_remote_tmpdir_base", "/dev/shm"]
        if job.nodes:
            shell = ["--prtemca", "plm_ssh_agent"] if self.major >= 5 else ["--mca", "plm_rsh_agent"]
            line += [*shell, job.remote_shell, "--host", ",".join(f"{node}:{count}" for node, count in job.nodes)]
            # 5.0.11: UCX finds no device between simulated nodes and one-sided UCX prints errors about it.
            line += ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self,sm" if self.major >= 5 else "tcp,self,vader", "--mca", "osc", "^ucx"]
        if self.major >= 5 and not job.one_node:
            # 5.0.11: a daemon on another node misses now and then the end of a process that is over at once, on a busy
            # machine of `true` every third time, and the job never ends.
            program = ["/bin/sh", "-c", 'sleep 0.1; exec "$0" "$@"', *program]
        # The environment goes to other nodes, a batch job's too, by name only.
        for name in job.exported:
            line += ["-x", name]
        return [*line, "-n", str(job.processes), *program]

    @property
    def major(self) -> int:
        return int(self.version.split(".")[0])


class IntelMpi(Mpi):
    family = "impi"
    title = "Intel MPI"
    noise = (
        *Mpich.noise,
        # 2021.19: when a node is gone.
        Noise((r"\[mpiexec@\S+\] Error: Downstream from host \S+ exited abnormally",)),
        Noise((r"\[mpiexec@\S+\] Trying to close other downstreams",)),
        Noise((r"\[mpiexec@\S+\] (HYD_sock_write|wait_proxies_to_terminate) .*(write error|was killed by signal).*",)),
    )
    node_gone = r"Downstream from host (?P<node>\S+) exited abnormally"
    # Processes that the launcher itself ended (signal 9) are not the cause.
    ended_by_signal = r"RANK (?P<rank>\d+) PID \d+ RUNNING AT \S+\s+=\s+KILLED BY SIGNAL: (?P<signal>(?!9 )\d+)"
    segments = r"Intel_MPI_\w{6}"

    def include_flags(self) -> list[str]:
        return ["-I", str(self.folder / "include")] if self.folder else []

    def compiler(self, language: str, arguments: list[str], show: bool = False) -> list[str]:
        # 2021.19 wheel: its mpicc wants to be set up by a script that the wheel has not got.
        if not self.folder:
            return super().compiler(language, arguments, show)
        lib = self.folder / "lib"
        linking = [f"-L{lib}", f"-Wl,-rpath,{lib}", "-lmpi"] if links(arguments) else []
        driver = os.environ.get("CC", "gcc") if language == "c" else os.environ.get("CXX", "g++")
        return [*(["echo"] if show else []), *driver.split(), *self.include_flags(), *arguments, *linking]

    def launch(self, job: Job, program: list[str]) -> list[str]:
        line = [self.mpiexec]
        if job.nodes:
            hosts = ",".join(f"{node}:{count}" for node, count in job.nodes)
            line += ["-bootstrap", "ssh", "-bootstrap-exec", job.remote_shell, "-hosts", hosts]
            # 2021.19 heeds none of these numbers: it deals as many ranks as a host has cores to each in turn, until there are no more.
            line += ["-ppn", str(job.nodes[0][1])]
        return [*line, "-n", str(job.processes), *program]

    def needs(self) -> dict[str, str]:
        if not self.folder:
            return {}
        lib = str(self.folder / "lib")
        # 2021.19: without the library path it does not find its libfabric, without the root not its tuning.
        paths = [lib, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        return {"I_MPI_ROOT": str(self.folder), "LD_LIBRARY_PATH": ":".join(paths), "FI_PROVIDER_PATH": f"{lib}/libfabric"}

    def settings(self, job: Job) -> dict[str, str]:
        settings = super().settings(job)
        if job.pin:
            settings |= {"I_MPI_PIN_DOMAIN": str(job.share), "I_MPI_PIN_CELL": "core" if job.pin == "core" else "unit"}
        else:
            # 2021.19 pins by default, several processes to one core if need be.
            settings["I_MPI_PIN"] = "0"
        if job.oversubscribed:
            # 2021.19: an allreduce of 8 ranks on 2 cores takes 30 ms without, 73 us with it.
            settings["I_MPI_WAIT_MODE"] = "1"
        if job.nodes:
            settings |= {"I_MPI_FABRICS": "shm:ofi", "FI_PROVIDER": "tcp"}
        return settings


def links(arguments: list[str]) -> bool:
    """Whether a compiler that is given these also links."""
    only = {"-c", "-S", "-E", "-M", "-MM", "-fsyntax-only"} & set(arguments)
    return not only and not all(a.startswith("-") for a in arguments)


FAMILIES = {kind.family: kind for kind in (Mpich, OpenMpi, IntelMpi)}


def default_name() -> str:
    return os.environ.get("PLAIT_MPI") or ("system" if shutil.which("mpicc") else "mpich")


def find(name: str | None = None, install: bool = True) -> Mpi:
    """The MPI of that name (default: PLAIT_MPI, the system's where mpicc is on the PATH, else MPICH), ready to use."""
    name = name or default_name()
    if name not in NAMES:
        raise MpiError(f"there is no MPI '{name}'{did_you_mean(name, NAMES)} (it is one of {', '.join(NAMES)})")
    if name == "system":
        return FAMILIES[_family(_system_mpicc())](name, None)
    mpi = FAMILIES[name](name, ROOT / ".mpi" / name)
    if install and not mpi.installed and subprocess.run([ROOT / "scripts/setup", name], check=False).returncode:
        raise MpiError(f"the set-up of {name} failed")
    return mpi


def _system_mpicc() -> str:
    found = shutil.which("mpicc")
    if not found:
        raise MpiError("there is no mpicc on the PATH: load your system's MPI, or take --mpi mpich")
    return found


def _macros(compiler: str, flags: list[str]) -> dict[str, str]:
    asked = subprocess.run(
        [compiler, *flags, "-E", "-dM", "-x", "c", "-"], input="#include <mpi.h>\n", capture_output=True, text=True, check=False
    )
    if asked.returncode:
        raise MpiError(f"{compiler} does not compile: {asked.stderr.strip().splitlines()[-1] if asked.stderr.strip() else '?'}")
    return dict(re.findall(r"^#define (\w+) (.+)$", asked.stdout, re.MULTILINE))


def _family(mpicc: str) -> str:
    # Whatever its name and wrapper, an MPI tells in mpi.h what it is; Intel's also has MPICH's macros.
    macros = _macros(mpicc, [])
    for macro, family in (("OMPI_MAJOR_VERSION", "openmpi"), ("I_MPI_VERSION", "impi"), ("MPICH_VERSION", "mpich")):
        if macro in macros:
            return family
    raise MpiError(f"{mpicc} is of no MPI that plait knows: it is neither MPICH, Open MPI nor Intel MPI")
