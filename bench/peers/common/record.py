"""What --record writes into bench/results/: a row for each comparison and each figure of an experiment."""

import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bench" / "results"))

import rows as table  # noqa: E402


def record(folder, theme, result, command, commit):
    """Appends the rows of an experiment's result to the file of its theme; how many they are."""
    found = rows_of(result, command, commit)
    if found:
        table.append(folder / f"{theme}.csv", found)
    return len(found)


def rows_of(result, command, commit):
    if result["quick"]:
        return []  # whose figures mean nothing
    common = {
        **dict.fromkeys(table.COLUMNS, ""),
        "date": result["finished"][:10],
        "commit": commit,
        "processor": processor(result["machine"]),
        "cores": str(result["machine"]["cores"]),
        "threads": str(result["threads"]),
        "command": command,
    }
    found = [of_comparison(common, one) for one in result.get("comparisons", []) if one["job"]]
    return found + [of_figure(common, one) for one in result.get("figures", [])]


def of_comparison(common, one):
    return {
        **common,
        **shared(one),
        "threads": str(one["threads"] or common["threads"]),
        "peer": one["against"],
        "peer_precision": one["against_precision"] or one["precision"],
        "peer_version": one["peer_version"],
        "settings": one["settings"],
        "ours": rounded(statistics.median(one["ours"])),
        "theirs": rounded(statistics.median(one["peer"])),
        "ratio": f"{one['ratio']:.3f}",
        "rounds": str(len(one["ours"])),
        "goal": "" if one["goal"] is None else f"{one['goal']:g}",
        "goal_verdict": "" if one["goal"] is None else verdict(one["goal_verdict"]),
    }


def of_figure(common, one):
    return {
        **common,
        **shared(one),
        "peer": one["against"],
        "peer_precision": one["precision"] if one["against"] else "",
        "ours": rounded(one["value"]),
        "theirs": "" if one["against_value"] is None else rounded(one["against_value"]),
        "rounds": "" if one["rounds"] is None else str(one["rounds"]),
    }


def shared(one):
    """What both kinds have. Too few rounds have a range, and no verdict."""
    low_high = one["interval"] or one["range"] or ("", "")
    return {
        "job": one["job"],
        "precision": one["precision"],
        "unit": one["unit"],
        "better": one["better"],
        "interval": "95 %" if one["interval"] else "range" if one["range"] else "",
        "low": low_high[0] if low_high[0] == "" else f"{low_high[0]:.3f}",
        "high": low_high[1] if low_high[1] == "" else f"{low_high[1]:.3f}",
        "target": "" if one["target"] is None else one["target"] if isinstance(one["target"], str) else f"{one['target']:g}",
        "verdict": verdict(one["verdict"]),
        "note": one["note"],
    }


def verdict(word):
    return word if word in table.VERDICTS else "none"


def rounded(value):
    """To four digits, whole above them."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def processor(machine):
    """As /proc/cpuinfo has it, without marks and what every processor is: "Intel Xeon Platinum 8488C". Virtual machines may hide the
    model; it is "Intel Xeon with AMX" or "AMD EPYC, Zen 3" then."""
    name = machine["cpu"]
    name = re.sub(r"\((R|TM)\)|\bCPU\b|\bProcessor\b|\b\d+-Core\b|@.*", " ", name, flags=re.IGNORECASE)
    name = " ".join(name.split()) or "unknown"
    if re.search(r"\d", name):
        return name
    return f"{name} with AMX" if machine["amx"] else f"{name}, {machine['zen']}" if machine["zen"] else name


def command_of(name, options, environment, given):
    """The line that repeats an experiment. `environment`: what stands for the values of its variables, of which those in
    `given` are told: folders differ from machine to machine."""
    words = [f"{variable}={value}" for variable, value in environment.items() if given.get(variable)]
    words += ["bench/peers/run", "--only", name]
    for precision in options.precision or ():
        words += ["--precision", precision]
    for work in options.work or ():
        words += ["--work", work if re.fullmatch(r"[\w.-]+", work) else f"'{work}'"]
    if options.threads:
        words += ["--threads", str(options.threads)]
    if options.runs:
        words += ["--runs", str(options.runs)]
    if options.pause != 2.0:
        words += ["--pause", f"{options.pause:g}"]
    if options.seed != 1:
        words += ["--seed", str(options.seed)]
    return " ".join(words)


def commit_of(root):
    """Of the checkout, with a + where it has changes; empty where that isn't known."""

    def git(*words):
        return subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)

    try:
        head, status = git("rev-parse", "--short", "HEAD"), git("status", "--porcelain", "--", ":!bench/results")
    except OSError:
        return ""
    if head.returncode != 0 or status.returncode != 0:
        return ""
    return head.stdout.strip() + ("+" if status.stdout.strip() else "")
