// Patterns of names: shell globs over code points (spec/course.md, Patterns).

// Whether a pattern matches the whole of a text, letter case counting (spec/course.md, Patterns).
export function matches(text, pattern) {
  return compiled(pattern)(Array.from(text));
}

const known = new Map();

// The test of a pattern: a function of the characters of a text.
export function compiled(pattern) {
  let found = known.get(pattern);
  if (found === undefined) {
    found = matcher(parts(Array.from(pattern)));
    if (known.size > 4096) known.clear();
    known.set(pattern, found);
  }
  return found;
}

const ANY = Symbol("any");

function parts(characters) {
  const found = [];
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at];
    if (character === "*") found.push(ANY);
    else if (character === "?") found.push(() => true);
    else if (character === "[") {
      const end = closing(characters, at + 1);
      if (end < 0) found.push("[");
      else {
        found.push(bracket(characters.slice(at + 1, end)));
        at = end;
      }
    } else found.push(character);
  }
  return found;
}

// Where the bracket ends that begins before `at`: a `]` right behind it, or behind its `!`, is one of its characters.
function closing(characters, at) {
  let end = at;
  if (characters[end] === "!") end += 1;
  if (characters[end] === "]") end += 1;
  return characters.indexOf("]", end);
}

function bracket(characters) {
  const negated = characters[0] === "!";
  const inner = negated ? characters.slice(1) : characters;
  const ranges = [];
  for (let at = 0; at < inner.length; at += 1) {
    const first = inner[at].codePointAt(0);
    if (inner[at + 1] === "-" && at + 2 < inner.length) {
      ranges.push([first, inner[at + 2].codePointAt(0)]);
      at += 2;
    } else ranges.push([first, first]);
  }
  return (other) => {
    const point = other.codePointAt(0);
    return ranges.some(([first, last]) => first <= point && point <= last) !== negated;
  };
}

// The greedy match of runs between stars: linear in text times pattern.
function matcher(pieces) {
  return (text) => {
    let at = 0;
    let piece = 0;
    let star = -1;
    let mark = 0;
    while (at < text.length) {
      const wanted = pieces[piece];
      if (wanted === text[at] || (typeof wanted === "function" && wanted(text[at]))) {
        at += 1;
        piece += 1;
      } else if (wanted === ANY) {
        star = piece;
        mark = at;
        piece += 1;
      } else if (star >= 0) {
        piece = star + 1;
        mark += 1;
        at = mark;
      } else return false;
    }
    while (piece < pieces.length && pieces[piece] === ANY) piece += 1;
    return piece === pieces.length;
  };
}
