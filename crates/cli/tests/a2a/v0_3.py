"""A conversation of the public A2A client with a node, in version 0.3 of the protocol.

usage: v0_3.py URL TOKEN
"""

import asyncio
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientJSONRPCError
from a2a.types import (
    DataPart, FilePart, FileWithUri, Message, Part, PushNotificationConfig, Role, TaskArtifactUpdateEvent, TaskIdParams,
    TaskPushNotificationConfig, TaskQueryParams, TaskState, TaskStatusUpdateEvent, TextPart,
)

URL, TOKEN = sys.argv[1:3]
NOBODY = "01890000-0000-7000-8000-000000000000"


def http():
    # Proxies of the environment are not asked for a server on this machine.
    return httpx.AsyncClient(timeout=60, trust_env=False, headers={"Authorization": f"Bearer {TOKEN}"})


async def client(**settings):
    card = await A2ACardResolver(http(), URL).get_agent_card()
    return card, ClientFactory(ClientConfig(httpx_client=http(), **settings)).create(card)


def message(*parts, message_id=None, **others):
    parts = [Part(root=part) for part in parts]
    return Message(message_id=message_id or str(uuid.uuid4()), role=Role.user, parts=parts, **others)


def wait(seconds, **task):
    return DataPart(data={"executor": "wait", "inputs": {"duration": seconds}, **task})


TREE = DataPart(data={"tasks": {
    "seed": {"executor": "aggregate"},
    "report": {"executor": "aggregate", "depends": ["seed"]},
}})


async def the_only(events):
    events = [event async for event in events]
    assert len(events) == 1, events
    task, update = events[0]
    assert update is None, update
    return task


async def refused(code, awaitable, *words):
    try:
        await awaitable
    except A2AClientJSONRPCError as refusal:
        assert refusal.error.code == code, refusal
        for word in words:
            assert word in refusal.error.message, (word, refusal.error.message)
        return
    raise AssertionError(f"not refused with {code}")


async def card(read):
    assert read.protocol_version == "0.3.0" and read.url == f"{URL}/" and read.preferred_transport == "JSONRPC", read
    assert read.capabilities.streaming and not read.capabilities.push_notifications, read.capabilities
    assert read.security == [{"bearer": []}] and read.security_schemes["bearer"].root.scheme == "bearer", read.security_schemes
    wait = next(skill for skill in read.skills if skill.id == "wait")
    assert "duration" in wait.examples[0], wait


async def blocking(plain):
    task = await the_only(plain.send_message(message(TextPart(text="please"), TREE)))
    assert task.kind == "task" and task.status.state == TaskState.completed, task
    assert task.context_id == task.id, task
    artifacts = {artifact.name: artifact.parts[0].root.data for artifact in task.artifacts}
    assert artifacts == {"seed": {}, "report": {"seed": {}}}, artifacts
    assert task.history[0].parts[0].root.text == "please" and task.history[0].role == Role.user, task.history
    again = await plain.get_task(TaskQueryParams(id=task.id, history_length=0))
    assert again.status == task.status and not again.history, again
    same = message(wait(0), message_id="old once", context_id="old shop")
    first, second = await the_only(plain.send_message(same)), await the_only(plain.send_message(same))
    assert first.id == second.id and first.context_id == "old shop", (first, second)


async def bad_input(plain):
    send = lambda part, **others: the_only(plain.send_message(message(part, **others)))
    await refused(-32602, send(TextPart(text="test my shop")), "skills: ", "wait")
    await refused(-32602, send(DataPart(data={"executor": "magic"})), "magic")
    await refused(-32602, send(wait("long")), "duration")
    await refused(-32005, send(FilePart(file=FileWithUri(uri="https://example.com/"))))
    await refused(-32001, send(wait(0), task_id=NOBODY))
    await refused(-32001, plain.get_task(TaskQueryParams(id="no-id")))
    config = PushNotificationConfig(url="http://127.0.0.1:9/")
    await refused(-32003, plain.set_task_callback(TaskPushNotificationConfig(task_id=NOBODY, push_notification_config=config)))
    call = {"jsonrpc": "2.0", "id": 1, "method": "agent/getAuthenticatedExtendedCard"}
    extended = (await http().post(f"{URL}/", json=call)).json()
    assert extended["error"]["code"] == -32007 and extended["error"]["data"]["reason"], extended


async def streaming(streams):
    updates = [event async for event in streams.send_message(message(TREE))]
    task, first = updates[0]
    assert first is None and len(updates) > 3, updates
    kinds = [type(update) for _, update in updates[1:]]
    assert kinds.count(TaskArtifactUpdateEvent) == 2 and kinds[-1] is TaskStatusUpdateEvent, kinds
    finals = [update.final for _, update in updates[1:] if isinstance(update, TaskStatusUpdateEvent)]
    assert finals[-1] and not any(finals[:-1]), finals
    task, _ = updates[-1]
    assert task.status.state == TaskState.completed and len(task.artifacts) == 2, task
    await refused(-32004, anext(streams.resubscribe(TaskIdParams(id=task.id))), "has ended")


async def cancelling(polls, streams):
    task = await the_only(polls.send_message(message(wait(600))))
    assert task.status.state in (TaskState.submitted, TaskState.working), task
    following = streams.resubscribe(TaskIdParams(id=task.id))
    first, _ = await anext(following)
    assert first.id == task.id, first
    cancelled = await polls.cancel_task(TaskIdParams(id=task.id))
    assert cancelled.status.state == TaskState.canceled, cancelled
    states = [task.status.state async for task, _ in following]
    assert states[-1] == TaskState.canceled, states
    await refused(-32002, polls.cancel_task(TaskIdParams(id=task.id)))


async def main():
    read, plain = await client(streaming=False)
    _, streams = await client(streaming=True)
    _, polls = await client(streaming=False, polling=True)
    await card(read)
    await blocking(plain)
    await bad_input(plain)
    await streaming(streams)
    await cancelling(polls, streams)


asyncio.run(main())
print("done")
