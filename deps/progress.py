"""Messages and progress of wheels.py, in the words and looks of ui.sh. All of it goes to stderr."""
import shutil
import sys


class Failure(Exception):
    """What happened, and what to do about it."""

    def __init__(self, what, *advice):
        super().__init__(what)
        self.advice = advice


def say(text):
    print(f"evener: {text}", file=sys.stderr, flush=True)


def size_text(size):
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


class Progress:
    """One line redrawn on a terminal, elsewhere a line every ten per cent."""

    def __init__(self, label, total):
        self.label, self.total, self.told = label, max(total, 1), 0
        self.terminal = sys.stderr.isatty()

    def show(self, done, text=""):
        percent = min(100, 100 * done // self.total)
        figures = f"{size_text(done)} of {size_text(self.total)}"
        if self.terminal:
            line = f"evener: {self.label} [{'#' * (percent // 5):20}] {percent:3} % {figures} {text}"
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\033[K{line[:width]}", end="", file=sys.stderr, flush=True)
        elif percent >= self.told + 10:
            self.told = percent - percent % 10
            say(f"{self.label} {percent} % {figures} {text}".rstrip())

    def end(self):
        if self.terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
