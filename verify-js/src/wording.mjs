// How a number of things is said in the sentences of checks.

const grouped = (number) => String(number).replace(/\B(?=(?:\d{3})+$)/g, ",");

// `1 row` or `2,000 rows`.
export const countOf = (number, word) => (number === 1 ? `1 ${word}` : `${grouped(number)} ${word}s`);
