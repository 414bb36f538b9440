"""The shapes of the market's API, for OpenAPI and for what is sent to it."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from dayzero.market.model import CREDIT
from dayzero.web.schemas import Shape

Id = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
Hex = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Said = Annotated[str, Field(min_length=1, max_length=300, pattern=r"^[^\x00]*$")]
PackageName = Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9._+-]{0,199}$")]


class Problem(Shape):
    """Why something was not done (RFC 9457), and what to do."""

    type: str
    title: str
    status: int
    detail: str
    hint: str


class Price(Shape):
    """A price that something is sold at now."""

    id: str
    name: str
    version: str | None
    maintenance_days: int | None
    amount_minor: int
    currency: str
    signature_required: bool
    terms: str | None


class Offered(Shape):
    """A package that is on offer."""

    name: str
    title: str
    prices: list[Price]


class Offers(Shape):
    """Everything that is on offer."""

    schema_: Literal["dayzero/market-offers/v1"] = Field(alias="schema")
    packages: list[Offered]


class Affirmation(Shape):
    """One thing that is affirmed by itself."""

    kind: str
    text: str
    sha256: str


class Terms(Shape):
    """Terms of a licence; `sha256` is of the UTF-8 bytes of `text`."""

    schema_: Literal["dayzero/market-terms/v1"] = Field(alias="schema")
    id: str
    title: str
    text: str
    sha256: str
    affirmations: list[Affirmation]


class Credit(Shape):
    """What can be spent."""

    currency: str
    amount_minor: int


class Right(Shape):
    """A version that may be downloaded now."""

    package: str
    version: str
    entitlement: str
    maintenance: str | None
    signature: str | None
    notices: list[dict[str, str]]


class Account(Shape):
    """The account that the token is of."""

    schema_: Literal["dayzero/market-account/v1"] = Field(alias="schema")
    name: str
    credit: list[Credit]
    rights: list[Right]


class Order(Shape):
    """An order as it stands."""

    schema_: Literal["dayzero/market-order/v1"] = Field(alias="schema")
    id: str
    price: str
    package: str
    version: str | None
    amount_minor: int
    currency: str
    provider: str
    state: Literal["pending", "paid", "void", "refunded"]
    placed_at: str
    entitlement: str | None
    maintenance: str | None
    signature: str | None
    pay_at: str | None


class Orders(Shape):
    """The orders of an account, newest first."""

    schema_: Literal["dayzero/market-orders/v1"] = Field(alias="schema")
    orders: list[Order]


class Received(Shape):
    """What a delivery did."""

    schema_: Literal["dayzero/market-delivery/v1"] = Field(alias="schema")
    effect: Literal["recorded", "duplicate", "unmatched", "unapplied"]


class Signing(BaseModel):
    """A licence as it is signed."""

    model_config = ConfigDict(extra="forbid")

    terms_sha256: Hex = Field(description="Digest of the terms text that was read.")
    entity: Said = Field(description="The licensed entity.")
    signer: Said = Field(description="Who signs.")
    authority: Said = Field(description="By what authority the signer binds the entity.")
    affirmations: list[Hex] = Field(
        min_length=1, max_length=50, description="Digest of each affirmation that is made, in the order of the terms."
    )


class Wanted(BaseModel):
    """What is bought."""

    model_config = ConfigDict(extra="forbid")

    price: Id
    provider: Annotated[str, Field(pattern="^[a-z]{1,40}$")] = CREDIT
    signing: Signing | None = Field(default=None, description="The licence, where the price asks for one.")


class Taken(BaseModel):
    """What is downloaded."""

    model_config = ConfigDict(extra="forbid")

    package: PackageName
    version: PackageName
