// A dump as the page shows it.
export function readDump(json) { return json; }
