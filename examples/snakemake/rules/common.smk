import re
import shlex
from pathlib import Path

from snakemake.exceptions import WorkflowError

USES_GPU = config["device"] != "cpu"


FASTQ = r"(fastq|fq)(\.gz)?"


def files_by_name(reads, endings):
    """Return the reads of a folder, sorted, or of a list, by their names without ending."""
    paths = sorted(map(str, Path(reads).iterdir())) if isinstance(reads, str) else reads
    found = {}
    for path in paths:
        name = re.fullmatch(rf"(.+)\.({endings})", Path(path).name)
        if name and name[1] in found:
            raise WorkflowError(
                f"{path}: {found[name[1]]} has this name, too; rename one"
            )
        if name:
            found[name[1]] = path
    if not found:
        raise WorkflowError(f"{reads}: no reads; give a folder or a list of files")
    return found


def index_of(path):
    """Return the index of a BAM or CRAM file."""
    return path + (".crai" if path.endswith(".cram") else ".bai")


def on_gpu(mem_mb):
    """Return the resources of a job; the executors for clusters know these names."""
    return {"gpu": int(USES_GPU), "mem_mb": mem_mb, "runtime": config["runtime"]}


HAPGPU = "hapgpu"
if USES_GPU and config["choose_gpu"]:
    script = Path(workflow.basedir) / "scripts" / "one_gpu.sh"
    HAPGPU = f"sh {shlex.quote(str(script))} hapgpu"
