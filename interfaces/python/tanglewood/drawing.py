"""A graph as a picture: SVG inside HTML, which needs no network, no script and no other package.

Nodes are placed as bodies that push each other away and are held together by their relationships (Fruchterman and Reingold, 1991), from a
spiral that depends on nothing but their order: the same answer makes the same picture. The cost is the square of the number of nodes a
round, so their number is bounded.
"""

import html
import math

from ._native import Result
from .attach import method_of
from .frames import entities_of

#: Nodes that a picture has if nothing else is said, and at most.
NODES_DRAWN = 100
NODES_DRAWN_MAX = 500
#: Rounds of the placement: of few nodes at most, of many at least, and the pairs that are looked at in all between these.
ROUNDS_MAX = 80
ROUNDS_MIN = 25
PAIRS = 400_000
#: Characters of a caption, and of a value in the words that a pointer brings up.
CAPTION_CHARACTERS = 16
VALUE_CHARACTERS = 100
#: More relationships than these are drawn without their types.
TYPES_SHOWN = 60
#: Distance that two related nodes have by themselves, and the circle of a node.
DISTANCE = 90.0
RADIUS = 16.0
#: Nodes farther apart do not push each other, and how strongly all are drawn to the middle.
FAR = 3 * DISTANCE
TOGETHER = 0.25
#: Properties that name a node, the first that it has.
CAPTIONS = ("name", "title", "label", "caption", "id", "key", "code")
COLOURS = ("#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#b07aa1", "#9c755f", "#edc948", "#ff9da7", "#79706e")


class Drawing:
    """The picture of a graph: shown by a notebook, ``save`` writes it as a page, ``html`` is its text.

    ``nodes`` and ``relationships`` are how many it has; ``left_out`` how many nodes were more than it takes.
    """

    def __init__(self, html_text, nodes, relationships, left_out):
        self.html, self.nodes, self.relationships, self.left_out = html_text, nodes, relationships, left_out

    def _repr_html_(self):
        return self.html

    def save(self, path):
        """Writes a page of HTML that a browser shows."""
        with open(path, "w", encoding="utf-8") as file:
            file.write("<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>graph</title></head><body>%s</body></html>\n" % self.html)

    def __repr__(self):
        return "<Drawing %d nodes, %d relationships>" % (self.nodes, self.relationships)


def places_of(count, pairs):
    """Where nodes lie that are related so: ``count`` places ``[x, y]``."""
    places = []
    for at in range(count):
        # A spiral by the golden angle: no two at one place, none in a line.
        turn, far = at * 2.399963229728653, DISTANCE * 0.6 * math.sqrt(at + 0.5)
        places.append([far * math.cos(turn), far * math.sin(turn)])
    related = sorted({(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]})
    rounds = min(ROUNDS_MAX, max(ROUNDS_MIN, 2 * PAIRS // (count * count + 1)))
    for step in range(rounds if count > 1 else 0):
        moves = [[-x * TOGETHER, -y * TOGETHER] for x, y in places]
        for one in range(count):
            x, y = places[one]
            own = moves[one]
            for other in range(one):
                dx, dy = x - places[other][0], y - places[other][1]
                square = dx * dx + dy * dy
                if square > FAR * FAR:
                    continue
                push = DISTANCE * DISTANCE / (square + 1.0)
                own[0] += dx * push
                own[1] += dy * push
                moves[other][0] -= dx * push
                moves[other][1] -= dy * push
        for one, other in related:
            dx, dy = places[one][0] - places[other][0], places[one][1] - places[other][1]
            pull = math.hypot(dx, dy) / DISTANCE
            for at, sign in ((one, -1), (other, 1)):
                moves[at][0] += sign * dx * pull
                moves[at][1] += sign * dy * pull
        farthest = DISTANCE * (1 - step / rounds) * 0.5
        for place, (dx, dy) in zip(places, moves):
            scale = min(1.0, farthest / (math.hypot(dx, dy) or 1.0))
            place[0] += dx * scale
            place[1] += dy * scale
    return places


def _short(text, most):
    return text if len(text) <= most else text[: most - 1] + "…"


def _caption(node):
    for name in CAPTIONS:
        if node.get(name) is not None:
            return str(node[name])
    texts = [value for value in node.values() if isinstance(value, str)]
    return texts[0] if texts else str(node.id)


def _about(head, entity):
    """What a pointer brings up: every property on a line of its own."""
    lines = ["%s: %s" % (name, _short(str(value), VALUE_CHARACTERS)) for name, value in entity.items()]
    return "<title>%s</title>" % html.escape("\n".join([head, *lines]))


def _text(x, y, text, more=""):
    return "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" %s>%s</text>" % (x, y, more, html.escape(text))


def _loop(place, at, about, type):
    (x, y), size = place, RADIUS * (1.4 + 0.5 * at)
    path = "M %.1f %.1f C %.1f %.1f %.1f %.1f %.1f %.1f" % (x - 8, y - 14, x - size, y - 2.4 * size, x + size, y - 2.4 * size, x + 8, y - 14)
    return "<g>%s<path d=\"%s\"/>%s</g>" % (about, path, _text(x, y - 1.8 * size - 6, type, "class=\"t\"") if type else "")


def _line(begin, end, bend, about, type):
    """A curve from circle to circle, with its head; ``bend`` is how far its middle lies beside the straight line."""
    dx, dy = end[0] - begin[0], end[1] - begin[1]
    far = math.hypot(dx, dy) or 1.0
    middle = ((begin[0] + end[0]) / 2 - dy / far * bend, (begin[1] + end[1]) / 2 + dx / far * bend)

    def beside(place):
        ux, uy = middle[0] - place[0], middle[1] - place[1]
        size = math.hypot(ux, uy) or 1.0
        return ux / size, uy / size

    (sx, sy), (ex, ey) = beside(begin), beside(end)
    tip = (end[0] + ex * RADIUS, end[1] + ey * RADIUS)
    back = (tip[0] + ex * 7, tip[1] + ey * 7)
    path = "M %.1f %.1f Q %.1f %.1f %.1f %.1f" % (begin[0] + sx * RADIUS, begin[1] + sy * RADIUS, *middle, *back)
    head = "%.1f,%.1f %.1f,%.1f %.1f,%.1f" % (*tip, back[0] - ey * 3.5, back[1] + ex * 3.5, back[0] + ey * 3.5, back[1] - ex * 3.5)
    words = _text((begin[0] + end[0]) / 4 + middle[0] / 2, (begin[1] + end[1]) / 4 + middle[1] / 2 - 3, type, "class=\"t\"") if type else ""
    return "<g>%s<path d=\"%s\"/><polygon points=\"%s\"/>%s</g>" % (about, path, head, words)


def _edges(relationships, number, places):
    beside, drawn = {}, []
    for one in relationships:
        start, end = number[one.start_id], number[one.end_id]
        pair = (min(start, end), max(start, end))
        at = beside[pair] = beside.get(pair, -1) + 1
        about = _about(":" + one.type, one)
        type = one.type if len(relationships) <= TYPES_SHOWN else ""
        if start == end:
            drawn.append(_loop(places[start], at, about, type))
        else:
            # Beside each other on both sides; of those in the other direction left is right.
            bend = (at + 1) // 2 * 32 * (1 if at % 2 else -1) * (1 if start < end else -1)
            drawn.append(_line(places[start], places[end], bend, about, type))
    return drawn


def _circle(place, node, id, colour):
    x, y = place
    if node is None:
        head, caption, about = "node %d" % id, str(id), "<title>node %d</title>" % id
    else:
        head = ":" + ":".join(sorted(node.labels)) if node.labels else "node %d" % id
        caption, about = _short(_caption(node), CAPTION_CHARACTERS), _about(head, node)
    circle = "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.0f\" fill=\"%s\"/>" % (x, y, RADIUS, colour)
    return "<g>%s%s%s</g>" % (about, circle, _text(x, y + RADIUS + 11, caption))


def picture(nodes, relationships, most=NODES_DRAWN):
    """The picture of nodes and relationships, each a dict by id; ends that are not among the nodes are drawn without a name."""
    ids = dict.fromkeys(nodes)
    for one in relationships.values():
        ids.update({one.start_id: None, one.end_id: None})
    shown = list(ids)[:most]
    number = {id: at for at, id in enumerate(shown)}
    edges = [one for one in relationships.values() if one.start_id in number and one.end_id in number]
    places = places_of(len(shown), [(number[one.start_id], number[one.end_id]) for one in edges])
    kinds = {id: min(nodes[id].labels, default="") if id in nodes else "" for id in shown}
    labels = sorted(set(kinds.values()) - {""})
    colours = {label: COLOURS[at % len(COLOURS)] for at, label in enumerate(labels)}
    circles = [_circle(place, nodes.get(id), id, colours.get(kinds[id], "#bab0ac")) for id, place in zip(shown, places)]
    margin = 5 * RADIUS if any(one.start_id == one.end_id for one in edges) else 3 * RADIUS
    left, top = (min((place[axis] for place in places), default=0) - margin for axis in (0, 1))
    width, height = (max((place[axis] for place in places), default=0) + margin - low for axis, low in ((0, left), (1, top)))
    legend = "".join("<span style=\"color:%s\">●</span> %s&ensp;" % (colours[label], html.escape(label)) for label in labels)
    rest = len(ids) - len(shown)
    legend += "… and %d more nodes" % rest if rest else ""
    text = (
        "<div style=\"background:#fff;color:#222;font:11px sans-serif\"><svg xmlns=\"http://www.w3.org/2000/svg\""
        " viewBox=\"%.0f %.0f %.0f %.0f\" style=\"max-width:100%%;max-height:720px;width:%.0fpx\" font-size=\"10\" font-family=\"sans-serif\">"
        "<g stroke=\"#888\" fill=\"none\">%s</g><g fill=\"#222\">%s</g></svg><div>%s</div></div>"
    ) % (left, top, width, height, width, "".join(_edges(edges, number, places)), "".join(circles), legend)
    text = text.replace("<polygon ", "<polygon fill=\"#888\" ").replace("class=\"t\"", "fill=\"#666\" stroke=\"none\" font-size=\"8\"")
    return Drawing(text, len(shown), len(edges), rest)


@method_of(Result)
def draw(self, nodes=NODES_DRAWN):
    """The nodes, relationships and paths of the rows that are left, as a picture of at most so many nodes."""
    if not 0 < nodes <= NODES_DRAWN_MAX:
        raise ValueError("a picture has 1 to %d nodes" % NODES_DRAWN_MAX)
    return picture(*entities_of(self.rows()), nodes)
