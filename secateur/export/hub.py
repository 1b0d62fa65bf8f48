"""A folder that loads, on a hub: huggingface.co, or the one that HF_ENDPOINT names."""

from __future__ import annotations

from pathlib import Path

from secateur.errors import ConfigurationError, ExportError, one_line


def check_push(name: str, token: str | None = None) -> None:
    """Refuse, before anything is exported, a name that no hub takes, and a push without a token."""
    from huggingface_hub import constants, get_token
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    try:
        validate_repo_id(name)
    except HFValidationError as error:
        raise ConfigurationError(f"`{name}` is not a valid name on a hub: {one_line(error)}.") from error
    if constants.is_offline_mode():
        raise ExportError("HF_HUB_OFFLINE is set: nothing can be pushed. Unset it, or export with --to.")
    if (token or get_token()) is None:
        raise ExportError("there is no token for the hub. Log in with `hf auth login`, or set HF_TOKEN.")


def push(folder: Path, name: str, *, private: bool | None = None, token: str | None = None) -> str:
    """Upload a folder to the repository `name`, which is made where there is none; its address.

    `private` counts where it is made: by default it is public, or as the organisation has it. Raises ExportError.
    """
    import httpx
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    hub = HfApi(token=token, library_name="secateur")
    try:
        made = hub.create_repo(name, private=private, exist_ok=True)
        said = f"Pushed by Secateur: {folder.name}"
        # logs are nobody's but the trainer's, and so is what a killed process left
        left = ["logs/*", ".*.unfinished/*"]
        hub.upload_folder(repo_id=made.repo_id, folder_path=folder, commit_message=said, ignore_patterns=left)
    except HfHubHTTPError as error:
        status = error.response.status_code if error.response is not None else None
        if status in (401, 403):
            raise ExportError(f"the hub refuses to write `{name}`: this token has no write access ({status}).") from error
        raise ExportError(f"the hub refuses `{name}`: {one_line(error)}.") from error
    except (httpx.HTTPError, OfflineModeIsEnabled, OSError) as error:
        raise ExportError(f"`{hub.endpoint}` cannot be reached: {one_line(error)}.") from error
    return str(made)
