"""A device in Python, with nothing but its standard library. It asks the service for work over HTTP with a long poll, does it step by
step, and reports each step.

    DEVICE_ID=d1 DROVER_API_KEY=... python3 examples/device.py

Settings, from the environment: DROVER_URL (http://127.0.0.1:8080), DEVICE_ID, DROVER_API_KEY (the device's key or a user's).
"""

import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

URL = os.environ.get("DROVER_URL", "http://127.0.0.1:8080")
DEVICE_ID = os.environ["DEVICE_ID"]
API_KEY = os.environ["DROVER_API_KEY"]
BASE = f"{URL}/south/v80/devices/{urllib.parse.quote(DEVICE_ID, safe='')}/operation"

# What this device can do: the steps of each operation. A real one does the work where `execute` sleeps.
OPERATIONS = {
    "REBOOT_EQUIPMENT": ["BEGINREBOOT", "ENDREBOOT"],
    "UPDATE": ["BEGINUPDATE", "DOWNLOADFILE", "BEGININSTALL", "ENDINSTALL", "ENDUPDATE"],
}

# The device's own settings, which SET_DEVICE_PARAMETERS writes and GET_DEVICE_PARAMETERS reads.
variables = {"interval": 60}

# An operation that comes again is answered again, never done again; but one that failed is, where a later timestamp says that it is retried.
done = {}


def now():
    return int(time.time() * 1000)


def call(method, path, body=None, timeout=60):
    """One HTTP exchange; gives the status and the text, whatever the status is."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"X-ApiKey": API_KEY, "Content-Type": "application/json"}
    request = urllib.request.Request(BASE + path, data=data, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def post(request, **members):
    """Tries until the service has taken the message; what it refuses (4xx) it will not take later either."""
    response = {"id": request["id"], "deviceId": DEVICE_ID, "timestamp": now(), "name": request["name"], **members}
    pause = 0.5
    while True:
        try:
            status, _ = call("POST", "/response", {"version": "8.0", "operation": {"response": response}})
            if status < 300:
                return
            if status < 500 and status != 429:
                print(f"refused with {status}", file=sys.stderr)
                return
        except OSError as error:
            print(f"cannot reach the service: {error}", file=sys.stderr)
        time.sleep(pause)
        pause = min(pause * 2, 30)


def parameters_of(request):
    """The parameters by name, from either form in which they may travel: typed values in a list, or a plain object."""
    parameters = request.get("parameters") or {}
    if isinstance(parameters, dict):
        return parameters
    return {each["name"]: each["value"][each["type"]] for each in parameters}


def execute(request):
    """Does the operation and gives the members of its final response. All steps but the last are reported on the way."""
    name, parameters = request["name"], parameters_of(request)
    if name == "SET_DEVICE_PARAMETERS":
        for each in parameters.get("variableList", []):
            variables[each["name"]] = each["value"]
        return {"resultCode": "SUCCESSFUL", "steps": [step("SETPARAMETERS")]}
    if name == "GET_DEVICE_PARAMETERS":
        values = [{"name": each, "value": variables.get(each)} for each in parameters.get("variableList", [])]
        return {"resultCode": "SUCCESSFUL", "steps": [step("GETPARAMETERS")], "variableList": values}
    if name not in OPERATIONS:
        return {"resultCode": "NOT_SUPPORTED", "resultDescription": f"unknown operation {name}", "steps": []}
    *first, last = OPERATIONS[name]
    for each in first:
        time.sleep(0.1)
        post(request, steps=[step(each)])
    time.sleep(0.1)
    return {"resultCode": "SUCCESSFUL", "resultDescription": "done", "steps": [step(last)]}


def step(name, result="SUCCESSFUL"):
    return {"name": name, "timestamp": now(), "result": result}


def main():
    pause = 0.5
    while True:
        try:
            status, text = call("GET", "/pending?wait=30")
            if status == 200:
                request = json.loads(text)["operation"]["request"]
                launched, result = done.get(request["id"], (0, None))
                if result is None or (result["resultCode"] != "SUCCESSFUL" and request["timestamp"] > launched):
                    result = execute(request)
                    done[request["id"]] = (request["timestamp"], result)
                post(request, **result)
            if status < 300:
                pause = 0.5
                continue
            print(f"pending was answered {status}: {text}", file=sys.stderr)
        except OSError as error:
            print(f"cannot ask the service: {error}", file=sys.stderr)
        time.sleep(pause)
        pause = min(pause * 2, 30)


if __name__ == "__main__":
    main()
