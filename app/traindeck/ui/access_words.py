"""How templates, permissions and grantees are called in the window."""

from __future__ import annotations

from traindeck.domain.grants import Grant, Grantees, Permission
from traindeck.domain.new_bucket import StorageClass
from traindeck.domain.policies import Template
from traindeck.domain.texts import say


def template_name(template: Template) -> str:
    return {
        Template.PRIVATE: say("Private"),
        Template.PUBLIC_READ: say("Public read"),
        Template.PUBLIC_READ_WRITE: say("Public read and write"),
        Template.PUBLIC_READ_LIST: say("Public read and list"),
        Template.PUBLIC_READ_WRITE_DELETE: say("Public read, write and delete"),
    }[template]


def template_meaning(template: Template) -> str:
    return {
        Template.PRIVATE: say("Only your account gets in, and who you give it to."),
        Template.PUBLIC_READ: say("Anybody who knows a name can read that object; nobody sees the list."),
        Template.PUBLIC_READ_WRITE: say("Anybody can list, read, upload and overwrite. Never for training data."),
        Template.PUBLIC_READ_LIST: say("Anybody can see the list and read every object."),
        Template.PUBLIC_READ_WRITE_DELETE: say("Anybody can do everything with the objects, deleting included."),
    }[template]


def class_name(name: str) -> str:
    known = {
        StorageClass.STANDARD.value: say("Standard: for what is read often"),
        StorageClass.WARM.value: say("Warm: cheaper to keep, dearer to read, 30 days at least"),
        StorageClass.COLD.value: say("Cold: cheapest; takes hours to be read again, 90 days at least"),
    }
    return known.get(name, name)


def permission_name(permission: Permission, *, of_object: bool = False) -> str:
    words = {
        Permission.READ: say("Read it") if of_object else say("List names"),
        Permission.WRITE: say("Upload and delete"),
        Permission.READ_ACP: say("See the grants"),
        Permission.WRITE_ACP: say("Change the grants"),
        Permission.FULL_CONTROL: say("All of these"),
    }[permission]
    return f"{words} ({permission})"


def grantee_name(grant: Grant, owner: str) -> str:
    if grant.kind is Grantees.ACCOUNT and grant.account == owner:
        return say("The owner ({account})", account=grant.account)
    return grantees_name(grant.kind) if not grant.account else grant.account


def grantees_name(kind: Grantees) -> str:
    return {
        Grantees.ACCOUNT: say("One account"),
        Grantees.EVERYONE: say("Everybody, without signing in"),
        Grantees.AUTHENTICATED: say("Everybody who has any account there"),
        Grantees.LOG_DELIVERY: say("The service that writes logs"),
        Grantees.UNKNOWN: say("Somebody who cannot be told from here"),
    }[kind]
