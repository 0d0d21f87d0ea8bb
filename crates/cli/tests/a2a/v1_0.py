"""A conversation of the public A2A client with a node, in version 1.0 of the protocol.

usage: v1_0.py URL TOKEN
"""

import asyncio
import sys
import uuid

import httpx
from a2a.client import ClientConfig, create_client
from a2a.types.a2a_pb2 import (
    AgentCard, CancelTaskRequest, GetTaskRequest, ListTasksRequest, Message, Part, Role, SendMessageRequest,
    SubscribeToTaskRequest, TaskPushNotificationConfig, TaskState,
)
from a2a.utils.errors import (
    ContentTypeNotSupportedError, InvalidParamsError, PushNotificationNotSupportedError, TaskNotCancelableError,
    TaskNotFoundError, UnsupportedOperationError, VersionNotSupportedError,
)
from google.protobuf.json_format import MessageToDict, ParseDict

URL, TOKEN = sys.argv[1:3]
NOBODY = "01890000-0000-7000-8000-000000000000"


def http(**headers):
    # Proxies of the environment are not asked for a server on this machine.
    return httpx.AsyncClient(timeout=60, trust_env=False, headers={"Authorization": f"Bearer {TOKEN}", **headers})


async def client(**settings):
    return await create_client(URL, ClientConfig(httpx_client=http(), **settings))


def request(*parts, message_id=None, **message):
    message = Message(message_id=message_id or str(uuid.uuid4()), role=Role.ROLE_USER, parts=parts, **message)
    return SendMessageRequest(message=message)


def data(value):
    return ParseDict({"data": value}, Part())


def wait(seconds, **task):
    return data({"executor": "wait", "inputs": {"duration": seconds}, **task})


TREE = data({"tasks": {
    "seed": {"executor": "aggregate"},
    "report": {"executor": "aggregate", "depends": ["seed"]},
}})


async def the_only(events):
    events = [event async for event in events]
    assert len(events) == 1, events
    return events[0].task


async def refused(error, awaitable, *words):
    try:
        await awaitable
    except error as refusal:
        for word in words:
            assert word in str(refusal), (word, str(refusal))
        return refusal
    raise AssertionError(f"not refused with {error.__name__}")


async def card(plain):
    public = await httpx.AsyncClient(trust_env=False).get(f"{URL}/.well-known/agent-card.json")
    assert public.status_code == 200 and "etag" in public.headers, public
    shown = public.json()
    read = plain._card
    assert isinstance(read, AgentCard)
    assert [i.protocol_version for i in read.supported_interfaces] == ["1.0", "0.3"], read.supported_interfaces
    assert all(i.url == f"{URL}/" for i in read.supported_interfaces), read.supported_interfaces
    assert read.capabilities.streaming and not read.capabilities.push_notifications
    assert "wait" in [skill.id for skill in read.skills]
    assert read.security_schemes["bearer"].http_auth_security_scheme.scheme == "bearer", shown
    schemas = MessageToDict(read.capabilities.extensions[0].params)["schemas"]
    assert schemas["wait"]["required"] == ["duration"], schemas


async def blocking(plain):
    task = await the_only(plain.send_message(request(TREE)))
    assert task.status.state == TaskState.TASK_STATE_COMPLETED, task
    assert task.context_id == task.id and task.status.timestamp.seconds > 0, task
    artifacts = {artifact.name: MessageToDict(artifact.parts[0])["data"] for artifact in task.artifacts}
    assert artifacts == {"seed": {}, "report": {"seed": {}}}, artifacts
    assert len(task.history) == 1 and task.history[0].task_id == task.id, task.history
    assert MessageToDict(task.metadata)["progress"] == 1, task.metadata
    again = await plain.get_task(GetTaskRequest(id=task.id, history_length=0))
    assert again.status == task.status and not again.history and len(again.artifacts) == 2, again


async def repeated(plain):
    first = await the_only(plain.send_message(request(wait(0), message_id="once", context_id="shop")))
    again = await the_only(plain.send_message(request(wait(0), message_id="once", context_id="shop")))
    assert first.id == again.id and first.context_id == "shop", (first, again)
    await refused(InvalidParamsError, the_only(plain.send_message(request(wait(1), message_id="once"))), "once")
    return first


async def text(plain):
    task = await the_only(plain.send_message(request(Part(text="executor: wait\ninputs: { duration: 0 }"))))
    assert task.status.state == TaskState.TASK_STATE_COMPLETED, task
    await refused(InvalidParamsError, the_only(plain.send_message(request(Part(text="test my shop")))), "skills: ", "wait")
    await refused(InvalidParamsError, the_only(plain.send_message(request(Part(text="wait")))), "`duration` is missing")
    await refused(InvalidParamsError, the_only(plain.send_message(request(data({"executor": "magic"})))), "magic")
    file = Part(url="https://example.com/plan.yaml", media_type="application/yaml")
    await refused(ContentTypeNotSupportedError, the_only(plain.send_message(request(file))))


async def streaming(streams):
    events = [event async for event in streams.send_message(request(TREE, context_id="shop"))]
    kinds = [event.WhichOneof("payload") for event in events]
    assert kinds[0] == "task" and kinds[-1] == "status_update", kinds
    assert kinds.count("artifact_update") == 2 and kinds.count("task") == 1, kinds
    last = events[-1].status_update
    assert last.status.state == TaskState.TASK_STATE_COMPLETED and last.context_id == "shop", last
    said = [event.status_update.status.message.parts[0].text for event in events[1:-1] if event.HasField("status_update")]
    assert any(text.startswith("seed started on ") for text in said), said
    task = events[0].task.id
    await refused(UnsupportedOperationError, anext(streams.subscribe(SubscribeToTaskRequest(id=task))), "has ended")
    await refused(TaskNotFoundError, anext(streams.subscribe(SubscribeToTaskRequest(id=NOBODY))))


async def failing(plain):
    task = await the_only(plain.send_message(request(wait(600, name="slow", timeout_seconds=1, max_attempts=1))))
    assert task.status.state == TaskState.TASK_STATE_FAILED, task
    assert task.status.message.parts[0].text.startswith("slow: timeout"), task


async def cancelling(polls, streams):
    task = await the_only(polls.send_message(request(wait(600))))
    assert task.status.state in (TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING), task
    following = streams.subscribe(SubscribeToTaskRequest(id=task.id))
    first = await anext(following)
    assert first.task.id == task.id and first.task.history[0].role == Role.ROLE_USER, first
    cancelled = await polls.cancel_task(CancelTaskRequest(id=task.id))
    assert cancelled.status.state == TaskState.TASK_STATE_CANCELED, cancelled
    states = [event.status_update.status.state async for event in following]
    assert states[-1] == TaskState.TASK_STATE_CANCELED, states
    await refused(TaskNotCancelableError, polls.cancel_task(CancelTaskRequest(id=task.id)))
    await refused(TaskNotFoundError, polls.cancel_task(CancelTaskRequest(id=NOBODY)))
    await refused(TaskNotFoundError, polls.get_task(GetTaskRequest(id="no-id")))
    again = request(wait(0), task_id=task.id)
    await refused(UnsupportedOperationError, the_only(polls.send_message(again)), "no further messages")


async def listing(plain, shop):
    everything = await plain.list_tasks(ListTasksRequest())
    times = [task.status.timestamp.ToMilliseconds() for task in everything.tasks]
    assert everything.total_size == len(times) and times == sorted(times, reverse=True), everything
    assert everything.next_page_token == "" and not any(task.artifacts for task in everything.tasks), everything
    pages, token = [], ""
    while True:
        page = await plain.list_tasks(ListTasksRequest(page_size=2, page_token=token))
        pages += [task.id for task in page.tasks]
        token = page.next_page_token
        assert page.total_size == everything.total_size and len(page.tasks) <= 2
        if not token:
            break
    assert pages == [task.id for task in everything.tasks], pages
    of_shop = await plain.list_tasks(ListTasksRequest(context_id="shop", include_artifacts=True, history_length=1))
    assert shop.id in [task.id for task in of_shop.tasks] and of_shop.total_size == 2, of_shop
    assert sum(len(task.artifacts) for task in of_shop.tasks) == 2 and all(task.history for task in of_shop.tasks)
    canceled = await plain.list_tasks(ListTasksRequest(status=TaskState.TASK_STATE_CANCELED))
    assert [task.status.state for task in canceled.tasks] == [TaskState.TASK_STATE_CANCELED], canceled
    assert not (await plain.list_tasks(ListTasksRequest(status=TaskState.TASK_STATE_INPUT_REQUIRED))).tasks
    await refused(InvalidParamsError, plain.list_tasks(ListTasksRequest(page_size=101)), "pageSize")
    await refused(InvalidParamsError, plain.list_tasks(ListTasksRequest(page_token="x")), "pageToken")


async def unsupported(plain):
    config = TaskPushNotificationConfig(task_id=NOBODY, url="http://127.0.0.1:9/")
    await refused(PushNotificationNotSupportedError, plain.create_task_push_notification_config(config))
    pushed = request(wait(0))
    pushed.configuration.task_push_notification_config.CopyFrom(config)
    await refused(PushNotificationNotSupportedError, the_only(plain.send_message(pushed)))
    call = {"jsonrpc": "2.0", "id": 1, "method": "GetExtendedAgentCard"}
    extended = (await http(**{"A2A-Version": "1.0"}).post(f"{URL}/", json=call)).json()
    assert extended["error"]["code"] == -32004, extended
    assert extended["error"]["data"][0]["reason"] == "UNSUPPORTED_OPERATION", extended
    newer = await create_client(URL, ClientConfig(httpx_client=http(**{"A2A-Version": "2.0"})))
    await refused(VersionNotSupportedError, newer.get_task(GetTaskRequest(id=NOBODY)))
    stranger = await httpx.AsyncClient(trust_env=False).post(f"{URL}/", json=call)
    assert stranger.status_code == 401 and "bearer" in stranger.headers["www-authenticate"].lower(), stranger


async def main():
    plain, streams, polls = await client(streaming=False), await client(), await client(streaming=False, polling=True)
    await card(plain)
    await blocking(plain)
    shop = await repeated(plain)
    await text(plain)
    await streaming(streams)
    await failing(plain)
    await cancelling(polls, streams)
    await listing(plain, shop)
    await unsupported(plain)


asyncio.run(main())
print("done")
