/**
 * Onetape's extension for Pi: permissions and questions, which Pi does not have built in.
 *
 * A dialog of Pi's says neither whether it is a permission or a question, nor which call it is
 * about; ours say both, in a title that a machine can read (dialogs.py is the other side):
 *
 *   select  PERMISSION {"toolCallId","toolName","input","parentToolCallId"}   once | session | reject
 *           (a value `reject: why` is a rejection that tells the model why)
 *   input   QUESTION {"toolCallId","questions":[{"question","header","options":[{"label","description"}],"multiSelect"}]}
 *           answered by JSON, one list of strings per question
 *
 * It fails closed: where nobody can be asked, a call that needs a permission is blocked. "session"
 * is remembered until the process ends: for a command exactly this command, else the tool.
 * Nothing of Pi's is imported, so that every version loads it.
 */
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { resolve } from "node:path";

const READING = new Set(["read", "grep", "find", "ls", "ask_user", "todo", "tool_search", "codemode"]); // codemode: its calls are asked for one by one
const EDITING = new Set(["edit", "write"]);
const SHELLS = new Set(["bash", "powershell"]);
const MODES = new Set(["default", "acceptEdits", "plan", "bypass"]);
const MAX_BEFORE = 256 * 1024;

const question = {
	type: "object",
	required: ["question"],
	properties: {
		question: { type: "string", description: "The question, in full" },
		header: { type: "string", description: "One or two words that name it" },
		multiSelect: { type: "boolean", description: "Whether several options may be chosen" },
		options: {
			type: "array",
			description: "What to choose from; leave out for a free answer",
			items: { type: "object", required: ["label"], properties: { label: { type: "string" }, description: { type: "string" } } },
		},
	},
};

export default function (pi: any) {
	let mode = MODES.has(process.env.ONETAPE_PI_MODE ?? "") ? process.env.ONETAPE_PI_MODE : "default";
	const allowed = new Set<string>();
	const before = new Map<string, string | null | undefined>();

	const key = (event: any) => (SHELLS.has(event.toolName) ? `${event.toolName} ${event.input.command}` : event.toolName);
	const listening = (signal: any) => (signal ? { signal } : undefined);

	async function verdict(event: any, ctx: any) {
		if (mode === "bypass" || READING.has(event.toolName)) return undefined;
		if (allowed.has(key(event)) && mode !== "plan") return undefined;
		if (mode === "acceptEdits" && EDITING.has(event.toolName)) return undefined;
		if (mode === "plan") return { block: true, reason: "Plan mode: only reading is allowed. Describe what you would do instead." };
		if (!ctx.hasUI) return { block: true, reason: "This needs a permission, and nobody can be asked" };
		const { toolCallId, toolName, input, parentToolCallId } = event;
		const title = `PERMISSION ${JSON.stringify({ toolCallId, toolName, input, parentToolCallId })}`;
		const choice: string = (await ctx.ui.select(title, ["once", "session", "reject"], listening(ctx.signal))) ?? "reject";
		if (choice === "session") allowed.add(key(event));
		if (choice === "once" || choice === "session") return undefined;
		return { block: true, reason: choice.startsWith("reject: ") ? `Rejected by the user: ${choice.slice(8)}` : "Rejected by the user" };
	}

	pi.on("tool_call", async (event: any, ctx: any) => {
		const decision = await verdict(event, ctx);
		if (!decision && EDITING.has(event.toolName)) before.set(event.toolCallId, content(event, ctx));
		return decision;
	});

	// Pi does not tell what a written file was before, without which there is no diff. Null: there was none; undefined: too much, or no text.
	function content(event: any, ctx: any): string | null | undefined {
		try {
			const bytes = readFileSync(located(event.input.path, ctx.cwd));
			return bytes.length <= MAX_BEFORE && !bytes.includes(0) ? bytes.toString("utf8") : undefined;
		} catch (error: any) {
			return error?.code === "ENOENT" ? null : undefined;
		}
	}

	// As Pi's own tools do (core/tools/path-utils.js): of a file that is looked for elsewhere it would be said that it is new.
	function located(path: string, cwd: string) {
		const plain = path.replace(/[\u00A0\u2000-\u200A\u202F\u205F\u3000]/g, " ").replace(/^@/, "");
		if (plain.startsWith("file:")) throw new Error("0.73.1 takes this for a name");
		return resolve(cwd, plain === "~" || plain.startsWith("~/") ? homedir() + plain.slice(1) : plain);
	}

	// Pi tells the diff of an edit, but of the text that it worked on: without CR and BOM, and made plain where an edit fits only roughly.
	// Before 0.87 a last line without its newline does not show either.
	function isToldRight(event: any, was: string) {
		const edits: any[] = Array.isArray(event.input.edits) ? event.input.edits : [event.input];
		return !/\r|^\uFEFF/.test(was) && edits.every((edit) => was.includes(edit.oldText)) && (event.details?.patch || was.endsWith("\n"));
	}

	pi.on("tool_result", async (event: any, ctx: any) => {
		const was = before.get(event.toolCallId);
		before.delete(event.toolCallId);
		if (event.isError || was === undefined) return undefined;
		if (event.toolName === "write") return { details: { ...event.details, before: was } };
		if (was === null || isToldRight(event, was)) return undefined;
		return { details: { ...event.details, before: was, after: content(event, ctx) } };
	});

	pi.registerCommand("onetape-mode", {
		description: "Set how Onetape asks for permissions: default, acceptEdits, plan, bypass",
		handler: async (wanted: string, ctx: any) => {
			if (MODES.has(wanted.trim())) mode = wanted.trim();
			ctx.ui.setStatus("onetape-mode", mode);
		},
	});

	pi.registerTool({
		name: "ask_user",
		label: "Ask user",
		description: "Ask the user one or more questions and wait for the answers.",
		parameters: { type: "object", required: ["questions"], properties: { questions: { type: "array", minItems: 1, items: question } } },
		async execute(toolCallId: string, asked: any, signal: any, _onUpdate: any, ctx: any) {
			const title = `QUESTION ${JSON.stringify({ toolCallId, questions: asked.questions })}`;
			const value = ctx.hasUI ? await ctx.ui.input(title, undefined, listening(signal)) : undefined;
			if (value === undefined) return { content: [{ type: "text", text: "The user declined to answer" }], details: { answers: null } };
			const answers: string[][] = JSON.parse(value);
			const lines = asked.questions.map((each: any, at: number) => `${each.question} ${(answers[at] ?? []).join(", ")}`);
			return { content: [{ type: "text", text: lines.join("\n") }], details: { answers } };
		},
	});

	const servers = process.env.ONETAPE_PI_MCP;
	if (servers && pi.registerMcpServer)
		for (const [name, config] of Object.entries(JSON.parse(readFileSync(servers, "utf8")))) pi.registerMcpServer(name, config);
}
