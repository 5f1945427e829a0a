// evener data info: what there is in data, and what is wrong with it.
#include "job/data/data_info.h"

#include <cstdio>
#include <memory>

#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/progress.h"

namespace evener::cli {
namespace {

int tell_data(const job::DataInfoFlags& flags) {
  ProgressLine line(false);
  const job::Description info = job::look_at_data(flags, line);
  if (!write_json(*flags.json, info.json)) std::fputs(info.text.c_str(), stdout);
  return 0;
}

}  // namespace

Command data_info_command() {
  const auto flags = std::make_shared<job::DataInfoFlags>();
  return {.name = "info",
          .summary = "Check every image; show classes, counts, split, and what is unusable",
          .options = flags->options(),
          .footer =
              "Examples:\n"
              "  evener data info photos/\n"
              "  evener data info VOCdevkit/VOC2007 --size 320x320\n"
              "  evener data info 'holiday/**/*.jpg'\n"
              "  evener data info fish/ --class bream='Bream GT/**' --class shrimp='Shrimp GT/**'\n"
              "  evener data info photos/ --size 224x224 --split 80/10/10 --json -\n",
          .run = [flags] { return tell_data(*flags); }};
}

}  // namespace evener::cli
