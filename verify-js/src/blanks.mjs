// Blanks: Unicode's White_Space and U+001C to U+001F. What a platform takes for blank differs from that.

const BLANK = /[\p{White_Space}\x1c-\x1f]/u;
const BLANKS = /[\p{White_Space}\x1c-\x1f]+/u;

// A text without the blanks at its ends. By steps: a search for blanks before an end begins anew at every one of them.
export function stripped(text) {
  let [start, end] = [0, text.length];
  while (start < end && BLANK.test(text[start])) start += 1;
  while (end > start && BLANK.test(text[end - 1])) end -= 1;
  return text.slice(start, end);
}

// The words of a text.
export const wordsOf = (text) => text.split(BLANKS).filter((word) => word !== "");
