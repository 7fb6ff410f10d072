"""A bar that says how far an import is: tqdm's where that is installed, else one in its look, on a terminal or in a notebook."""

import html
import importlib.util
import sys
import time

#: Characters of the bar on a terminal.
_WIDTH = 24
#: Eighths of a character.
_PARTS = " ▏▎▍▌▋▊▉"
#: A bar is drawn anew this often at most.
_EVERY_SECONDS = 0.1


def size(number):
    """A count of bytes as people read it: three digits and a letter."""
    for unit in ("", "k", "M", "G"):
        if number < 999.5:
            return "%.3g%s" % (number, unit) if number < 100 else "%.0f%s" % (number, unit)
        number /= 1000
    return "%.3gT" % number if number < 100 else "%.0fT" % number


def duration(seconds):
    """Minutes and seconds, with hours where there are some."""
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return "%d:%02d:%02d" % (hours, minutes, seconds) if hours else "%02d:%02d" % (minutes, seconds)


def line(phase, done, total, seconds, more):
    """One line in tqdm's look."""
    share = min(done / total, 1.0) if total else 1.0
    eighths = int(share * _WIDTH * 8)
    bar = "█" * (eighths // 8) + (_PARTS[eighths % 8] if eighths < _WIDTH * 8 else "")
    left = duration(seconds * (1 - share) / share) if share > 0 else "?"
    rate = size(done / seconds) if seconds > 0 else "?"
    counts = (phase, 100 * share, bar.ljust(_WIDTH), size(done), size(total), duration(seconds), left, rate, more)
    return "%s: %3.0f%%|%s| %s/%s [%s<%s, %sB/s, %s]" % counts


def _in_notebook():
    """Is this process the kernel of a notebook?"""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


class _OwnBar:
    """A bar without tqdm."""

    def __init__(self):
        self._begun, self._drawn, self._last, self._cell, self._width = time.monotonic(), 0.0, None, None, 0
        self._is_notebook = _in_notebook()

    def show(self, phase, done, total, more):
        self._last = (phase, done, total, more)
        now = time.monotonic()
        if now - self._drawn >= _EVERY_SECONDS:
            self._drawn = now
            self._draw()

    def _draw(self):
        phase, done, total, more = self._last
        text = line(phase, done, total, time.monotonic() - self._begun, more)
        if self._is_notebook:
            self._draw_cell(text, done, total)
        else:
            # What is left of a longer line is written over.
            self._width = max(self._width, len(text))
            sys.stderr.write("\r" + text.ljust(self._width))
            sys.stderr.flush()

    def _draw_cell(self, text, done, total):
        from IPython.display import HTML, display

        head, _, rest = text.partition("|")
        words = (html.escape(head), min(done, total) if total else 1, total or 1, html.escape(rest.rpartition("| ")[2]))
        shown = HTML("<code>%s</code> <progress value=\"%d\" max=\"%d\"></progress> <code>%s</code>" % words)
        if self._cell is None:
            self._cell = display(shown, display_id=True)
        else:
            self._cell.update(shown)

    def close(self):
        if self._last is not None:
            self._draw()
            if not self._is_notebook:
                sys.stderr.write("\n")


class _Tqdm:
    """The bar of tqdm."""

    def __init__(self, tqdm):
        # It is drawn once the size is known.
        self._tqdm, self._bar = tqdm, None

    def show(self, phase, done, total, more):
        if self._bar is None:
            self._bar = self._tqdm(total=total, unit="B", unit_scale=True)
        self._bar.total = total
        self._bar.set_description(phase, refresh=False)
        self._bar.set_postfix_str(more, refresh=False)
        self._bar.update(done - self._bar.n)

    def close(self):
        if self._bar is not None:
            self._bar.close()


def _tqdm():
    """tqdm as it looks here; None where it is not installed, or a notebook has not what its bar is made of."""
    if _in_notebook() and importlib.util.find_spec("ipywidgets") is None:
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm


class Bar:
    """What an import calls with its phase, the bytes done and in all, and what it counted so far."""

    def __init__(self):
        tqdm = _tqdm()
        self._bar = _OwnBar() if tqdm is None else _Tqdm(tqdm)

    def __call__(self, phase, sizes, nodes, relationships):
        self._bar.show(phase, sizes[0], sizes[1], "%d nodes, %d relationships" % (nodes, relationships))

    def close(self):
        """Draws it for the last time."""
        self._bar.close()
