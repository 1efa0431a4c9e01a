"""Operations on CUDA streams: by a stand-in for CUDA's driver, and by the driver itself where there is a GPU. Each test says its processes.

The stand-in shows in which order plait calls the driver, and what it does with answers. tests/gpu/run runs the same programs on a GPU.
"""

import ctypes
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from plait import launch
from plait.mpis import ROOT
from programs import MPI, limits, run

pytestmark = pytest.mark.once  # what is put on a stream, and when, is the same whatever the MPI is

SIGNALS = {
    "memory": [],
    "functions": ["--without-memory-operations"],
    "functions in graphs": ["--without-captured-memory-operations"],
}


def stand_in():
    if limits["factor"] > 1:
        pytest.skip("memory that nobody may touch, which the stand-in has, is what a sanitizer takes for its own")
    folder = MPI.build / "stand_in"
    assert (folder / "libcuda.so.1").exists(), f"{folder} is not built"
    return f"LD_LIBRARY_PATH={folder}"


def tried(*words, processes=2, hosts=1, env=(), timeout=60):
    done = run("queue_gpu", *words, processes=processes, hosts=hosts, env=[stand_in(), *env], timeout=timeout)
    assert [line for line in done.stdout.splitlines() if line.endswith(": right")] == [
        f"{w}: right" for w in words if not w.startswith("-")
    ]
    return done


@pytest.fixture(params=[1, 2])
def nodes(request):
    if request.param > 1 and (reason := launch.why_no_nodes(MPI)):
        pytest.skip(reason)
    return request.param


@pytest.mark.thorough_where(signals="functions in graphs")
@pytest.mark.parametrize("signals", SIGNALS)
def test_messages_of_every_kind_of_memory(nodes, signals):
    """2 x 1: 8 bytes to 8 MB, with gaps, blocking and not, from and to pageable, pinned and device memory"""
    tried(*SIGNALS[signals], "messages", "addresses", "order", hosts=nodes)


@pytest.mark.thorough_where(nodes=2)
@pytest.mark.parametrize("signals", SIGNALS)
def test_graphs_that_are_launched_again_and_again(nodes, signals):
    """4 x 1"""
    tried(*SIGNALS[signals], "graph", processes=4, hosts=nodes)


@pytest.mark.thorough_where(kind="--hip")
@pytest.mark.parametrize("kind", ["--cuda", "--hip"])
def test_a_graph_that_is_captured_anew_each_time(kind):
    """2 x 1"""
    tried(*["--hip"] * (kind == "--hip"), "recapture")


@pytest.mark.thorough_where(signals="functions in graphs")
@pytest.mark.parametrize("signals", SIGNALS)
def test_collective_calls_on_device_memory(nodes, signals):
    """4 x 1"""
    tried(*SIGNALS[signals], "collectives", "gaps", processes=4, hosts=nodes)


@pytest.mark.parametrize("signals", ["memory", "functions"])
def test_many_operations_on_many_streams(nodes, signals):
    """2 x 1"""
    tried(*SIGNALS[signals], "streams", "per_thread", "many", "deep", "rows", hosts=nodes)


def test_a_send_on_an_idle_stream_takes_its_data_at_once(nodes):
    """2 x 1"""
    tried("freed", hosts=nodes)


def test_pinned_memory_that_the_driver_gives_late():
    """2 x 1"""
    tried("pinning")


def test_a_device_that_is_reset():
    """2 x 1"""
    tried("reset")


@pytest.mark.parametrize("signals", ["memory", "functions"])
def test_a_kernel_that_fails_before_a_send(nodes, signals):
    """2 x 1"""
    done = tried(*SIGNALS[signals], "failing", hosts=nodes)
    assert "CUDA says at cuStreamQuery: an illegal memory access was encountered (error 700)" in done.stderr


def test_mistakes_have_their_error_classes():
    """2 x 1"""
    done = tried("values")
    assert "there is no memory: it is no cudaStream_t" in done.stderr
    assert "not the 8 bytes of a cudaStream_t" in done.stderr
    assert "cuStreamGetCtx says invalid resource handle (error 400)" in done.stderr


def test_what_is_put_on_a_stream():
    """1 x 1: a write, and a wait where it holds up; nothing else"""
    tried("trace", processes=1)


@pytest.mark.thorough_where(nodes=2)
def test_hip(nodes):
    """2 x 1: by a stand-in for HIP's library"""
    tried("--hip", "last_error", "messages", "order", "freed", "collectives", "graph", "values", "addresses", "rows", "gaps", hosts=nodes)
    done = tried("--hip", "--without-memory-operations", "order", "graph", "failing", hosts=nodes)
    assert "HIP says at hipStreamQuery: an illegal memory access was encountered (error 700)" in done.stderr


def test_the_library_that_the_program_uses_is_taken(tmp_path):
    """1 x 1: HIP of two ROCms, of which the one that the loader finds by the common name is of no use"""
    others = tmp_path / "others"
    others.mkdir()
    (others / "libamdhip64.so").write_text("no library")
    own = tmp_path / "libamdhip64.so.6"
    folder = MPI.build / "stand_in"
    assert stand_in()
    shutil.copy(folder / "libamdhip64.so", own)
    env = [f"LD_PRELOAD={own}", f"LD_LIBRARY_PATH={others}:{folder}"]
    assert run("queue_gpu", "--hip", "trace", processes=1, env=env).stdout == "trace: right\n"


def test_signals_by_host_functions_if_asked_for():
    """2 x 1"""
    tried("order", "graph", env=["PLAIT_GPU_SIGNALS=functions"])


def test_a_machine_without_the_driver(tmp_path):
    """1 x 1"""
    try:
        ctypes.CDLL("libcuda.so.1")
        pytest.skip("this machine has CUDA's driver")
    except OSError:
        pass
    source = tmp_path / "none.c"
    source.write_text("""#include <plait/mpix.h>
#include <stdio.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  void* none = 0;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "type", argv[1]);
  MPIX_Info_set_hex(info, "value", &none, sizeof none);
  MPIX_Stream stream;
  int class = 0;
  MPI_Error_class(MPIX_Stream_create(info, &stream), &class);
  puts(class == MPI_ERR_INFO_VALUE ? "refused" : "not so");
  MPI_Info_free(&info);
  return MPI_Finalize();
}
""")
    program = tmp_path / "none"
    subprocess.run([ROOT / "plait", "--mpi", MPI.name, "cc", source, "-o", program], check=True, timeout=120)
    for kind, library in {"cudaStream_t": "libcuda.so.1", "hipStream_t": "libamdhip64.so"}.items():
        done = run(program, kind, processes=1)
        assert done.stdout == "refused\n"
        assert f"a queue of type {kind} needs its driver: {library}" in done.stderr
        assert "not found by the loader (in LD_LIBRARY_PATH, in the ldconfig cache and in the system's folders)" in done.stderr


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/usr/local/cuda/bin/nvcc").exists(), reason="there is no nvcc")
@pytest.mark.parametrize("page", ["examples/queues/saxpy.cu", "docs/linking.md"])
def test_the_lines_that_compile_the_example_in_cuda(page, tmp_path):
    shutil.copy(ROOT / "examples" / "queues" / "saxpy.cu", tmp_path)
    text = (ROOT / page).read_text()
    lines = [line.strip(" *") for line in text.splitlines() if re.match(r"[ *]*(nvcc .*saxpy|(plait )?c\+\+ saxpy)", line)]
    assert len(lines) == 2
    path = f"{ROOT}:/usr/local/cuda/bin:{os.environ['PATH']}"
    env = os.environ | {"PATH": path, "PLAIT_MPI": MPI.name, "PKG_CONFIG_PATH": str(MPI.build / "lib" / "pkgconfig")}
    for line in lines:
        subprocess.run(line, shell=True, check=True, timeout=120, cwd=tmp_path, env=env)
    assert (tmp_path / "saxpy").exists()


def test_measurements_run():
    """2 x 1: what tests/gpu/run measures, for a moment"""
    done = run("gpu_speed", "0.01", "10", env=[stand_in()])
    assert done.stdout.count("usual way") == 5
