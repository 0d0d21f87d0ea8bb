"use strict";
// The newest trees of this node, read once a second.
async function call(method, params) {
  const response = await fetch("/rpc", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const { result, error } = await response.json();
  if (error) throw new Error(error.message);
  return result;
}

async function show() {
  const note = document.getElementById("note");
  try {
    const { tasks } = await call("tasks.list", { roots: true });
    const rows = tasks.map((task) => {
      const row = document.createElement("tr");
      for (const text of [task.id, task.name, task.executor, task.status]) {
        row.insertCell().textContent = text;
      }
      return row;
    });
    document.getElementById("tasks").replaceChildren(...rows);
    note.textContent = "";
  } catch (error) {
    note.textContent = error.message;
  }
  setTimeout(show, 1000);
}

show();
