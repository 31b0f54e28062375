/** MCP servers as people type them into the start form, into what the API takes. */

export interface McpLine {
  name: string;
  kind: "local" | "remote";
  /** A command line, or an address. */
  target: string;
}

export type McpServer = { type: "local"; command: string[] } | { type: "remote"; url: string };

export function mcpServers(lines: McpLine[]): Record<string, McpServer> {
  const told = lines.filter((line) => line.name.trim() && line.target.trim());
  return Object.fromEntries(told.map((line) => [line.name.trim(), server(line)]));
}

function server(line: McpLine): McpServer {
  return line.kind === "remote" ? { type: "remote", url: line.target.trim() } : { type: "local", command: words(line.target) };
}

/** The words of a command line, quotes respected; nothing else of a shell's language. */
export function words(line: string): string[] {
  const found = line.match(/"(?:\\.|[^"\\])*"|'[^']*'|[^\s"']+/g) ?? [];
  return found.map((word) => (/^"/.test(word) ? word.slice(1, -1).replace(/\\(.)/g, "$1") : /^'/.test(word) ? word.slice(1, -1) : word));
}
