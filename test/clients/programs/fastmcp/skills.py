"""What FastMCP's client makes of a server's skills, as one line of JSON.

    skills.py URL FOLDER [TOKEN]

Skills are downloaded into FOLDER/helpers with the helpers for skills as resources, and into FOLDER/extension with the
client's own methods for the Skills extension.
"""

import asyncio
import json
import sys
import warnings
from pathlib import Path

from fastmcp import Client
from fastmcp.skills import SkillsClientExtension
from fastmcp.utilities.skills import download_skill, get_skill_manifest, list_skills

warnings.simplefilter("ignore")


async def main(url: str, folder: Path, token: str | None = None) -> None:
    async with Client(url, auth=token, extensions=[SkillsClientExtension()]) as client:
        listed = await list_skills(client)
        manifests = {}
        for skill in listed:
            manifest = await get_skill_manifest(client, skill.name)
            manifests[skill.name] = {file.path: [file.size, file.hash] for file in manifest.files}
            assert manifest.name == skill.name, (manifest.name, skill.name)
            await download_skill(client, skill.name, folder / "helpers")
        advertised = await client.list_skills()
        for entry in advertised:
            skill = await client.read_skill(entry.uri)
            skill.to_directory(folder / "extension" / entry.uri.removeprefix("skill://").removesuffix("/SKILL.md"))
        resources = [str(resource.uri) for resource in await client.list_resources()]
        prompts = [prompt.name for prompt in await client.list_prompts()]
    print(json.dumps({
        "listed": {skill.name: skill.description for skill in listed},
        "manifests": manifests,
        "advertised": [entry.uri for entry in advertised],
        "resources": resources,
        "prompts": prompts,
    }))


asyncio.run(main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:]))
