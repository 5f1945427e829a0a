// evener data info: what data holds, and what of it is unusable.
#include <cstdio>
#include <memory>

#include "app/data/data_job.h"
#include "options/command.h"
#include "options/output.h"
#include "options/progress_line.h"

namespace evener::app {

Command data_info_command() {
  const auto flags = std::make_shared<DataInfoFlags>();
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
          .run = [flags] {
            ProgressLine line(false);
            const Description info = look_at_data(*flags, line);
            if (!write_json(*flags->json, info.json)) std::fputs(info.text.c_str(), stdout);
            return 0;
          }};
}

}  // namespace evener::app
