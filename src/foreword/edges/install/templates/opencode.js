// Written by `foreword install opencode`, which also renews it; `foreword uninstall opencode` removes it.
// Hands what happens in a session to Foreword's client, and what Foreword answers to the model. Whatever goes
// wrong, the session goes on without a context.
import { spawn, spawnSync } from "node:child_process"

const COMMANDS = {} // each event's command, as a list of words
const PATIENCE = 5000 // milliseconds; the client itself answers much sooner, or not at all

function asked(event, payload, notify) {
  const [command, ...words] = COMMANDS[event]
  const input = JSON.stringify({ hook_event_name: event, ...payload })
  const ran = spawnSync(command, words, { input, timeout: PATIENCE, encoding: "utf8" })
  if (!ran.stdout) return ""
  try {
    const answer = JSON.parse(ran.stdout)
    if (answer.systemMessage) notify(answer.systemMessage)
    return answer.hookSpecificOutput?.additionalContext ?? ""
  } catch {
    return ""
  }
}

function told(event, payload) {
  const [command, ...words] = COMMANDS[event]
  const child = spawn(command, words, { stdio: ["pipe", "ignore", "ignore"] })
  child.on("error", () => {}) // the client is gone: `foreword doctor` says so
  child.stdin.on("error", () => {})
  child.stdin.end(JSON.stringify({ hook_event_name: event, ...payload }))
}

function spoken(parts) {
  return parts
    .filter((part) => part.type === "text" && !part.synthetic)
    .map((part) => part.text)
    .join("\n")
}

export const Foreword = async ({ client, directory }) => {
  const openings = new Map() // a session's opening words: the same bytes each time, for the model's cache
  const sources = new Map()
  const cwd = directory
  const notify = (message) => {
    try {
      client.tui?.showToast({ body: { message, variant: "info" } })?.catch?.(() => {})
    } catch {} // there may be no screen
  }

  return {
    "experimental.chat.system.transform": async (input, output) => {
      const session_id = input.sessionID
      if (!session_id) return
      if (!openings.has(session_id)) {
        const source = sources.get(session_id) ?? "startup"
        openings.set(session_id, asked("SessionStart", { session_id, cwd, source }, notify))
      }
      if (openings.get(session_id)) output.system.push(openings.get(session_id))
    },

    "chat.message": async (input, output) => {
      const prompt = spoken(output.parts)
      if (!prompt) return
      const text = asked("UserPromptSubmit", { session_id: input.sessionID, cwd, prompt }, notify)
      const last = output.parts.at(-1)
      if (text) output.parts.push({ ...last, id: `${last.id}f`, type: "text", text, synthetic: true })
    },

    "tool.execute.after": async (input, output) => {
      told("PostToolUse", {
        session_id: input.sessionID,
        cwd,
        tool_name: input.tool,
        tool_input: input.args ?? {},
        tool_response: output.output ?? "",
        tool_use_id: input.callID,
      })
    },

    event: async ({ event }) => {
      const session_id = event.properties?.sessionID
      if (event.type === "session.compacted") {
        openings.delete(session_id)
        sources.set(session_id, "compact")
      } else if (event.type === "session.idle") {
        const { data } = await client.session.messages({ path: { id: session_id } })
        const last = data?.findLast((message) => message.info.role === "assistant")
        const last_assistant_message = last ? spoken(last.parts) : ""
        told("Stop", { session_id, cwd, stop_hook_active: false, last_assistant_message })
      }
    },
  }
}
