// POSIX ACLs in the kernel's bytes (snapshot.md, Manifest 4; plan.md, Steps 6).
const OWNER = 0x01;
const USER = 0x02;
const OWNING_GROUP = 0x04;
const GROUP = 0x08;
const MASK = 0x10;
const OTHER = 0x20;

// Version 2, then tag, permissions and id of each entry.
export function isAcl(bytes) {
  if (bytes.length <= 4 || bytes.length > 4 + 16384 || bytes.length % 8 !== 4 || bytes.readUInt32LE(0) !== 2) return false;
  for (let at = 4; at < bytes.length; at += 8) if (bytes.readUInt16LE(at + 2) > 7) return false;
  return true;
}

// The permission bits that a whole ACL says, null for one that is not whole.
export function permissionsOf(bytes) {
  const found = new Map();
  for (let at = 4; at < bytes.length; at += 8) {
    const tag = bytes.readUInt16LE(at);
    found.set(tag, [...(found.get(tag) ?? []), bytes.readUInt16LE(at + 2)]);
  }
  const once = (tag) => found.get(tag)?.length === 1;
  const known = [...found.keys()].every((tag) => [OWNER, USER, OWNING_GROUP, GROUP, MASK, OTHER].includes(tag));
  const named = found.has(USER) || found.has(GROUP);
  if (!known || ![OWNER, OWNING_GROUP, OTHER].every(once) || !(once(MASK) || (!found.has(MASK) && !named))) return null;
  const middle = found.get(MASK) ?? found.get(OWNING_GROUP);
  return (found.get(OWNER)[0] << 6) | (middle[0] << 3) | found.get(OTHER)[0];
}
