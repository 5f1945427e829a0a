#include "job/train/dry_run.h"

#include "base/error.h"
#include "job/progress.h"
#include "job/train/hosts.h"
#include "job/train/ignored_options.h"
#include "job/train/training.h"
#include "placement/plan.h"
#include "task/train.h"

namespace evener::job {
namespace {

/// Writes down what a job says of itself.
class Listener : public task::TrainObserver {
 public:
  explicit Listener(const TrainFlags& flags) : flags_(flags) {}

  void on_setup(const task::TrainSetup& setup, const task::TrainOptions& options) override {
    text += "run        " + setup_text(setup) + "\n";
    for (const std::string& note : setup.notes) on_note(note);
    for (const std::string& note : ignored_options(flags_, options, setup)) on_note(note);
  }
  void on_note(const std::string& note) override { text += "note       " + note + "\n"; }

  std::string text;

 private:
  const TrainFlags& flags_;
};

}  // namespace

std::string dry_run_text(const TrainFlags& flags) {
  const std::vector<std::string> hosts = hosts_to_start(flags);
  if (flags.placement.is_automatic()) throw UsageError(kAutoIsMeasured);
  const placement::Plan plan = plan_of(flags);
  task::TrainOptions options = train_options(flags, plan);
  options.look_only = true;
  options.resume = false;  // a look at the start of a run; the checkpoint is compared when it goes on
  if (!flags.optimisation.batch_size()) {
    options.choose_batch = [batch = options.batch](const auto&, const auto&) { return batch; };
  }
  Listener listener(flags);
  const task::TrainJob job(options, listener);
  std::string text = placement::plan_text(plan);
  if (!hosts.empty()) text += hosts_text(hosts, plan.replicas.size());
  return text + listener.text;
}

}  // namespace evener::job
