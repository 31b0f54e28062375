/** The found words inside a hit's snippet, which the daemon puts between U+0002 and U+0003. The rest is text of others, never HTML. */

export interface Piece {
  text: string;
  hit: boolean;
}

export function marked(snippet: string): Piece[] {
  const parts = snippet.split(/\u0002(.*?)\u0003/s);
  return parts.map((text, at) => ({ text, hit: at % 2 === 1 })).filter((piece) => piece.text);
}
