"""Settings of joint training: whose batch comes when, and remedies. Feeds: training, experiment."""

from dataclasses import dataclass

from runtime.options import option

SCHEDULES = ("sequential", "round-robin", "proportional", "annealed")
REMEDIES = ("pcgrad", "recall", "replay", "ranking", "distill")
REPORT_ORDER = ("sst", "sts", "para")  # table 3: what is learnt first is forgotten


@dataclass(frozen=True)
class JointConfig:
    """How the tasks share one training. The settings of a remedy begin with its name."""

    schedule: str = "annealed"
    remedies: tuple[str, ...] = ()
    replay_share: float = option(
        0.1,
        "replay: share of a later task's batches that are of earlier tasks",
        least=0.001,
        most=0.9,
    )
    recall_strength: float = option(
        0.1,
        "recall: share of the way back per step, at first",
        least=0,
        most=1,
        source="gamma 5000 at rate 2e-5: RecAdam",
    )
    ranking_weight: float = option(1.0, "ranking: weight of its loss", least=0, most=1e6)

    @property
    def name(self) -> str:
        """Return how the encoder is trained, as cells say it: `joint-sequential+replay`."""
        return "joint-" + "+".join((self.schedule, *self.remedies))
