"""The plugin of opencode and the extension of pi that tell docket of tools: hooks in the agent's own process.

Rules:
1. They never throw, hold up a tool for TIMEOUT_SECONDS at most, and decide nothing.
2. In a run they post to the run's session, whose address stands in the environment and in no file; outside one they
   start `docket hook`.

`COMMAND_WORDS` stands for the words that start it.
"""

from __future__ import annotations

_TELL = """\
// Written by docket: it shows what each tool call changed. `docket hooks uninstall` takes it out.
import { spawn } from "node:child_process";

const WORDS = COMMAND_WORDS;
const PATIENCE_MS = 5000;

function start(event, body) {
  return new Promise((done) => {
    const child = spawn(WORDS[0], [...WORDS.slice(1), event], { stdio: ["pipe", "ignore", "ignore"] });
    const timer = setTimeout(() => { child.kill("SIGKILL"); done(); }, PATIENCE_MS);
    const ended = () => { clearTimeout(timer); done(); };
    child.on("error", ended);
    child.on("close", ended);
    child.stdin.on("error", () => {});
    child.stdin.end(body);
  });
}

async function tell(event, payload) {
  try {
    const body = JSON.stringify({ hook_event_name: event, ...payload });
    const session = process.env.DOCKET_SESSION_URL;
    if (!session) return await start(event, body);
    const url = `${session}/hooks/${WORDS[WORDS.length - 1]}/${event}`;
    const answer = await fetch(url, { method: "POST", body, signal: AbortSignal.timeout(PATIENCE_MS) });
    await answer.arrayBuffer();
  } catch {
    // What docket cannot be told must not trouble the agent.
  }
}

"""

OPENCODE_PLUGIN = f"""\
{_TELL}export const DocketHooks = async ({{ directory }}) => ({{
  "tool.execute.before": async (input, output) => {{
    await tell("tool.execute.before", {{
      session_id: input.sessionID, tool_use_id: input.callID, tool_name: input.tool,
      tool_input: output?.args, cwd: directory,
    }});
  }},
  "tool.execute.after": async (input) => {{
    await tell("tool.execute.after", {{
      session_id: input.sessionID, tool_use_id: input.callID, tool_name: input.tool,
      tool_input: input.args, cwd: directory,
    }});
  }},
  event: async ({{ event }}) => {{
    const properties = event?.properties ?? {{}};
    const part = properties.part;
    if (event?.type === "message.part.updated" && part?.type === "tool" && part.state?.status === "error") {{
      await tell("tool.execute.failed", {{
        session_id: part.sessionID, tool_use_id: part.callID, tool_name: part.tool,
        tool_input: part.state.input, cwd: directory,
      }});
    }}
    if (event?.type === "session.idle") {{
      await tell("session.idle", {{ session_id: properties.sessionID, cwd: directory }});
    }}
  }},
}});
"""

PI_EXTENSION = f"""\
{_TELL}function about(event, ctx) {{
  return {{
    session_id: ctx.sessionManager.getSessionId(), tool_use_id: event.toolCallId, tool_name: event.toolName,
    tool_input: event.input, is_error: event.isError, cwd: ctx.cwd,
  }};
}}

export default function (pi) {{
  for (const name of ["tool_call", "tool_result", "agent_end", "session_shutdown"]) {{
    pi.on(name, async (event, ctx) => {{
      let payload;
      try {{ payload = about(event, ctx); }} catch {{ return; }}
      await tell(name, payload);
    }});
  }}
}}
"""
