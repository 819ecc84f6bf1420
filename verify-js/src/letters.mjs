// Texts by the Unicode of one version, whichever the platform knows: 14.0 (spec/course.md, Patterns).

// What has, since then, become a letter with case or something that is passed over beside one.
const LATE = ranges([
  "0897 0ECE 1ACF-1ADD 1AE0-1AEB 1C89-1C8A A7CB-A7CF A7D2 A7D4 A7DA-A7DC A7F1 10D4E 10D50-10D65 10D69-10D6D",
  "10D6F-10D85 10EC5 10EFA-10EFF 11241 113BB-113C0 113CE 113D0 113D2 113E1-113E2 11B60 11B62-11B64 11B66 11DD9",
  "11F00-11F01 11F36-11F3A 11F40 11F42 11F5A 13439-13440 13447-13455 1611E-16129 1612D-1612F 16D40-16D42 16D6B-16D6C",
  "16EA0-16EB8 16EBB-16ED3 16FF2-16FF3 1DF25-1DF2A 1E030-1E06D 1E08F 1E4EB-1E4EF 1E5EE-1E5EF 1E6E3 1E6E6 1E6EE-1E6EF",
  "1E6F5 1E6FF",
]);
// The categories Cc, Cf, Cs, Co and Z.
const UNPRINTABLE = ranges([
  "00-20 7F-A0 AD 600-605 61C 6DD 70F 890-891 8E2 1680 180E 2000-200F 2028-202F 205F-2064 2066-206F 3000 D800-F8FF",
  "FEFF FFF9-FFFB 110BD 110CD 13430-13438 1BCA0-1BCA3 1D173-1D17A E0001 E0020-E007F F0000-FFFFD 100000-10FFFD",
]);

function ranges(lines) {
  const spans = lines.flatMap((line) => line.split(" ")).map((range) => {
    const [first, last = first] = range.split("-");
    return `\\u{${first}}-\\u{${last}}`;
  });
  return new RegExp(`([${spans.join("")}]+)`, "u");
}

// A text in lower case, by the full mapping. Characters that came later stand for themselves, and end no word.
export const lowered = (text) =>
  text.split(LATE).map((part, at) => (at % 2 === 0 ? part.toLowerCase() : part)).join("");

// Whether no character is a blank, a control, a mark of format, or of private use.
export const isPrintable = (text) => !UNPRINTABLE.test(text);
