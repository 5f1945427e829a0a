// evener data labels: labels that look wrong.
#include "options/command.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "options/output.h"
#include "options/progress_line.h"
#include "train/labels/label_report.h"
#include "train/labels/labels_job.h"

namespace evener::training {
namespace {

int tell_labels(const LabelsCommandFlags& flags) {
  ProgressLine line(*flags.output.quiet);
  const LabelFindings findings = find_labels(flags, line);
  if (write_json(*flags.output.json, labels_json(findings))) return 0;
  std::fputs(labels_text(findings).c_str(), stdout);
  if (flags.output.out->empty()) return 0;
  const std::filesystem::path out = *flags.output.out;
  fmt::print("\ntable      {}\npage       {}\n", (out / kLabelsTable).string(), (out / kLabelsPage).string());
  return 0;
}

}  // namespace

Command data_labels_command() {
  const auto flags = std::make_shared<LabelsCommandFlags>();
  return {.name = "labels",
          .summary = "Find labels that look wrong: images of another class",
          .options = flags->options(),
          .footer =
              "Examples:\n"
              "  evener data labels photos/ --model mobilenet_v2 --weights mobilenet_v2.pth --out doubts\n"
              "  evener data labels runs/photos --out doubts          the data of a training, by its network\n"
              "  evener data labels mnist/                            by pixels alone\n"
              "  evener train resnet18 --data photos/ --drop doubts/labels.csv\n",
          .complete = [flags](measure::Observer& line) { complete(*flags, &line); },
          .run = [flags] { return tell_labels(*flags); }};
}

}  // namespace evener::training
