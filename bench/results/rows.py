"""The rows of bench/results/*.csv: what they hold, and which of them count. Standard library alone."""

import csv
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parent
COLUMNS = (
    *("date", "commit", "processor", "cores", "threads", "job", "command", "precision", "peer", "peer_precision"),
    *("ours", "theirs", "unit", "better", "ratio", "interval", "low", "high", "rounds"),
    *("target", "verdict", "goal", "goal_verdict", "note", "peer_version", "settings"),
)
VERDICTS = ("met", "missed", "undecided", "none")
BETTER = ("higher", "lower")
INTERVALS = ("95 %", "range", "")
OURSELVES = "evener"  # with what a peer's name begins that is this program in another way
# The newest of the rows that agree in these counts.
SAME = ("job", "peer", "precision", "peer_precision", "processor", "threads")


def read(path):
    """The rows of a file, checked, in its order."""
    with open(path, newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise ValueError(f"{path.name}: its columns are not {','.join(COLUMNS)}")
        found = []
        for row in reader:
            wrong = problem(row)
            if wrong:
                raise ValueError(f"{path.name}, line {reader.line_num}: {wrong}")
            found.append(row)
    return found


def append(path, rows):
    """Adds rows at the end of a file; makes the file where there is none."""
    is_new = not path.exists()
    for row in rows:
        wrong = problem(row)
        if wrong:
            raise ValueError(f"{row.get('job')}: {wrong}")
    with open(path, "a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerows(rows)


def problem(row):
    """What is wrong with a row, or None."""
    if None in row or any(row.get(column) is None for column in COLUMNS):
        return "it has too few or too many cells"
    for column in ("ours", "theirs", "ratio", "low", "high", "goal", "rounds", "cores", "threads"):
        if number(row[column]) is None and row[column]:
            return f"{column} is '{row[column]}', which is no number"
    for column, words in (("verdict", VERDICTS), ("better", BETTER), ("interval", INTERVALS), ("goal_verdict", (*VERDICTS, ""))):
        if row[column] not in words:
            return f"{column} is '{row[column]}'; it has to be one of: {', '.join(word or '(empty)' for word in words)}"
    if not row["job"]:
        return "it has no job"
    if not row["command"]:
        return "it has no command"
    if not row["peer"] and (row["theirs"] or row["ratio"] or row["peer_precision"]):
        return "it has another side's values, but no peer"
    if row["interval"] == "95 %" and (number(row["rounds"]) or 0) < 6:
        return "an interval of 95 % needs six rounds"
    return contradiction(row)


def contradiction(row):
    """Where the verdict on a number isn't what interval and target say, or None. A range was judged, too, in older rows; a
    peer without a ratio is judged by words."""
    target, low, high = (number(row[column]) for column in ("target", "low", "high"))
    if row["verdict"] == "none" or None in (target, low, high) or (row["peer"] and not row["ratio"]):
        return None
    if not row["peer"] and row["better"] == "lower":
        low, high, target = -high, -low, -target
    verdict = "met" if low >= target else "missed" if high < target else "undecided"
    if verdict != row["verdict"]:
        return f"the verdict is {row['verdict']}, but {row['low']} to {row['high']} at the target {row['target']} is {verdict}"
    return None


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


def newest(rows):
    """Of the rows that measured the same on the same processor the newest, in the place of the first; of one date the
    later in the file. A day of a month counts for newer than the month alone."""
    kept = {}
    for row in rows:
        key = tuple(row[column] for column in SAME)
        if key not in kept or row["date"] >= kept[key]["date"]:
            kept[key] = row
    return list(kept.values())


def has_equal_precisions(row):
    return row["precision"] == row["peer_precision"]


def is_ourselves(row):
    return row["peer"] == OURSELVES or row["peer"].startswith((OURSELVES + " ", OURSELVES + ","))
