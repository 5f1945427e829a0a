// evener data labels: labels that look wrong.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/fetching.h"
#include "cli/json_output.h"
#include "cli/progress.h"
#include "job/labels/label_report.h"
#include "job/labels/labels_job.h"

namespace evener::cli {
namespace {

int tell_labels(const job::LabelsCommandFlags& flags) {
  ProgressLine line(*flags.output.quiet);
  const job::LabelFindings findings = job::find_labels(flags, line);
  if (write_json(*flags.output.json, job::labels_json(findings))) return 0;
  std::fputs(job::labels_text(findings).c_str(), stdout);
  if (flags.output.out->empty()) return 0;
  const std::filesystem::path out = *flags.output.out;
  fmt::print("\ntable      {}\npage       {}\n", (out / job::kLabelsTable).string(), (out / job::kLabelsPage).string());
  return 0;
}

}  // namespace

Command data_labels_command() {
  const auto flags = std::make_shared<job::LabelsCommandFlags>();
  return {.name = "labels",
          .summary = "Find labels that look wrong: images of another class",
          .options = flags->options(),
          .footer =
              "Examples:\n"
              "  evener data labels photos/ --model mobilenet_v2 --weights mobilenet_v2.pth --out doubts\n"
              "  evener data labels runs/photos --out doubts          the data of a training, by its network\n"
              "  evener data labels mnist/                            by pixels alone\n"
              "  evener train resnet18 --data photos/ --drop doubts/labels.csv\n",
          .complete =
              [flags] {
                job::LabelsFlags& labels = flags->labels;
                take_named_weights(labels.weights, &labels.normalize, *labels.model);
              },
          .run = [flags] { return tell_labels(*flags); }};
}

}  // namespace evener::cli
