"""Sends one order for each address by the named client and setting, and prints how each ended, one a line.

Arguments: the setting, then the addresses. The key is made once for each order, except where a setting says otherwise.
"""

import sys
import uuid

import httpx
import requests
import urllib3
from httpx_retries import Retry as HttpxRetry
from httpx_retries import RetryTransport
from requests.adapters import HTTPAdapter
from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_random_exponential
from urllib3.util import Retry

AGAIN = [408, 409, 421, 425, 429, 502, 503, 504]


def new_key():
    return f'"{uuid.uuid4()}"'


def item(url):
    return url.split("/")[4]


def by_requests(url, retries=None):
    with requests.Session() as session:
        if retries is not None:
            session.mount("http://", HTTPAdapter(max_retries=retries))
        return session.post(url, json={"item": item(url)}, headers={"Idempotency-Key": new_key()}).status_code


def by_urllib3(url, **options):
    with urllib3.PoolManager() as pool:
        headers = {"Idempotency-Key": new_key()}
        return pool.request("POST", url, json={"item": item(url)}, headers=headers, **options).status


def by_httpx(url, transport=None):
    with httpx.Client(transport=transport) as client:
        return client.post(url, json={"item": item(url)}, headers={"Idempotency-Key": new_key()}).status_code


def healed_urllib3():
    return Retry(total=5, backoff_factor=0.01, allowed_methods={"POST"}, status_forcelist=AGAIN, raise_on_status=False)


def healed_httpx():
    return HttpxRetry(total=5, backoff_factor=0.01, allowed_methods=["POST"], status_forcelist=AGAIN)


class Again(Exception):
    pass


def by_tenacity(url, key_inside):
    @retry(
        retry=retry_if_exception_type((Again, requests.RequestException)),
        stop=stop_after_attempt(5),
        wait=wait_random_exponential(multiplier=0.01, max=0.1),
    )
    def send(key):
        headers = {"Idempotency-Key": key or new_key()}
        response = requests.post(url, json={"item": item(url)}, headers=headers)
        if response.status_code in AGAIN:
            raise Again
        return response.status_code

    return send(None if key_inside else new_key())


SETTINGS = {
    "requests": by_requests,
    "requests, Retry(3)": lambda url: by_requests(url, Retry(3)),
    "requests, healed": lambda url: by_requests(url, healed_urllib3()),
    "urllib3": by_urllib3,
    "urllib3, healed": lambda url: by_urllib3(url, retries=healed_urllib3()),
    "httpx": by_httpx,
    "httpx-retries": lambda url: by_httpx(url, RetryTransport()),
    "httpx-retries, healed": lambda url: by_httpx(url, RetryTransport(retry=healed_httpx())),
    "tenacity around requests, key outside": lambda url: by_tenacity(url, False),
    "tenacity around requests, key inside": lambda url: by_tenacity(url, True),
}

setting, *urls = sys.argv[1:]
for url in urls:
    try:
        print(SETTINGS[setting](url), flush=True)
    except Exception as error:
        print("error", flush=True)
        print(url, repr(error), file=sys.stderr)
