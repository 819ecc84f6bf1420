// The shape of a receipt: null, or a sentence that names the first member which has not its form.
export function checkReceipt(document, ours) {
  return null;
}
