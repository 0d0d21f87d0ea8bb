// Nodes of the task plane and their leader.
import { sentence } from "./dialog.js";
import { breakable, el, facts, message, show } from "./dom.js";
import { age, pill, time } from "./format.js";
import { every, paced } from "./pace.js";
import { call, isAborted } from "./rpc.js";

const POLL_MS = 5_000;

export const openNodes = ({ place, signal, live, setTitle }) => {
  setTitle("Nodes");
  const leader = el("div"), list = el("div"), problem = el("div", { role: "alert" });
  place.append(el("h1", {}, "Nodes"), problem, leader, list);
  show(list, "loading", () => el("p", { class: "loading" }, "Loading …"));
  const load = async () => {
    try {
      const known = await call("nodes.list", {}, signal);
      problem.replaceChildren();
      show(leader, known.leader, () => leaderView(known.leader));
      show(list, known.nodes, () => (known.nodes.length === 0 ? empty() : cards(known.nodes)));
    } catch (error) {
      if (isAborted(error)) return;
      list.querySelector(".loading")?.remove();
      problem.replaceChildren(message("bad", sentence("nodes could not be read", error)));
    }
  };
  const refresh = paced(load, POLL_MS / 2, signal);
  live("/events/tasks", { onOpen: refresh });
  every(refresh, POLL_MS, signal);
  refresh();
  return {};
};

const leaderView = (leader) => {
  if (leader?.is_current) {
    return el("p", { class: "leader" }, "Leader: ", el("b", {}, breakable(leader.node)), ` · epoch ${leader.epoch} · lease until `, time(leader.expires_at));
  }
  const last = leader ? [" The last one was ", el("b", {}, breakable(leader.node)), ` (epoch ${leader.epoch}), until `, time(leader.expires_at), "."] : "";
  return el("p", { class: "notice warn" }, el("span", {}, "There is no leader: schedules do not fire and lost leases are not recovered until a node with role auto or leader is elected. Running tasks continue.", last));
};

const list = (values) => (values.length === 0 ? "none" : el("ul", { class: "tags" }, values.map((value) => el("li", {}, breakable(value)))));
const capability = ([name, value]) => (value === true ? name : `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`);

const cards = (nodes) => el("ul", { class: "cards" }, nodes.map((node) => el("li", {},
  el("div", { class: "title" }, el("h2", {}, breakable(node.name)), pill(node.status), node.is_leader && el("span", { class: "pill leads" }, "leader"), node.is_self && el("span", { class: "pill" }, "this node")),
  facts([
    ["Heartbeat", age(node.heartbeat_at)],
    ["Role", node.role],
    ["Executors", list(node.executors ?? [])],
    ["Capabilities", list(Object.entries(node.capabilities ?? {}).map(capability))],
    ["Address", node.address && el("code", {}, breakable(node.address))],
    ["Version", node.version],
    ["Registered", time(node.registered_at)],
    ["Process", el("code", {}, breakable(node.boot))],
  ]))));

const empty = () => el("div", { class: "empty" }, el("h2", {}, "No nodes are registered"),
  el("p", {}, "Tasks wait until a node runs. Start one with the same database:"),
  el("pre", { tabindex: "0", "aria-label": "Command" }, el("code", {}, "hyperscale serve --database postgres://…")));
