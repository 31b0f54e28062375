/** Addresses of the page. Two paths only, so that the daemon need serve the page at no other: `/` and `/sessions/{id}`. */

export type Route =
  | { view: "sessions" }
  | { view: "session"; id: string; at: number | null }
  | { view: "search"; q: string }
  | { view: "usage" }
  | { view: "start" };

export function parseRoute(url: URL): Route {
  const session = /^\/sessions\/([^/]+)\/?$/.exec(url.pathname);
  if (session) {
    const at = Number(url.searchParams.get("at"));
    return { view: "session", id: decodeURIComponent(session[1]!), at: Number.isInteger(at) && at > 0 ? at : null };
  }
  switch (url.searchParams.get("view")) {
    case "search":
      return { view: "search", q: url.searchParams.get("q") ?? "" };
    case "usage":
      return { view: "usage" };
    case "start":
      return { view: "start" };
    default:
      return { view: "sessions" };
  }
}

export function address(route: Route): string {
  switch (route.view) {
    case "sessions":
      return "/";
    case "session":
      return `/sessions/${encodeURIComponent(route.id)}${route.at ? `?at=${route.at}` : ""}`;
    case "search":
      return `/?${new URLSearchParams({ view: "search", ...(route.q ? { q: route.q } : {}) })}`;
    default:
      return `/?view=${route.view}`;
  }
}

/** The token that a printed link carries in its fragment, which no server ever sees. */
export function tokenOf(hash: string): string | null {
  return new URLSearchParams(hash.replace(/^#/, "")).get("token");
}
