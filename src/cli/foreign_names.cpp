#include "cli/foreign_names.h"

#include <string_view>

namespace evener::cli {
namespace {

struct ForeignName {
  std::string_view name, ours;  // `ours`: the option that a command has to have for it
  const char* advice;
};

constexpr ForeignName kForeignNames[] = {
    {"--threads", "--on", "threads belong to the placement, as in --on cpu/t4"},
    {"--num-threads", "--on", "threads belong to the placement, as in --on cpu/t4"},
    {"--device", "--on", "where to compute is said by --on, as in --on cpu or --on cuda:0"},
    {"--gpu", "--on", "where to compute is said by --on, as in --on cuda:0"},
    {"--gpus", "--on", "where to compute is said by --on, as in --on cuda:all"},
    {"--num-gpus", "--on", "where to compute is said by --on, as in --on cuda:all"},
    {"--workers", "--loader-threads", "what reads images in the background is --loader-threads"},
    {"--num-workers", "--loader-threads", "what reads images in the background is --loader-threads"},
    {"--workers", "--reading-threads", "threads that read images are --reading-threads"},
    {"--num-workers", "--reading-threads", "threads that read images are --reading-threads"},
    {"--fp16", "--precision", "arithmetic is chosen by --precision, as in --precision fp16"},
    {"--bf16", "--precision", "arithmetic is chosen by --precision, as in --precision bf16"},
    {"--half", "--precision", "arithmetic is chosen by --precision, as in --precision bf16"},
    {"--amp", "--precision", "arithmetic is chosen by --precision, as in --precision bf16"},
    {"--arch", "MODEL", "the network is named without an option, as in 'resnet18'"},
    {"--model", "MODEL", "the network is named without an option, as in 'resnet18'"},
    {"--pretrained", "--weights", "weights to start from are a file, as in --weights resnet18.pth"},
    {"--imgsz", "--size", "the size of images is --size, as in --size 224x224"},
    {"--img-size", "--size", "the size of images is --size, as in --size 224x224"},
    {"--image-size", "--size", "the size of images is --size, as in --size 224x224"},
    {"--out", "--html", "the page goes where --html says, as in --html page.html"},
    {"--output", "--html", "the page goes where --html says, as in --html page.html"},
    {"--early-stopping", "--patience", "to end without progress there is --patience, as in --patience 5"},
    {"--limit", "--split", "for a part of the data alone there is --split, as in --split 20/5/5 for 30 % of it"},
    {"--max-images", "--split", "for a part of the data alone there is --split, as in --split 20/5/5 for 30 % of it"}};

}  // namespace

std::string advice_on(const std::string& name, const job::OptionSet& options) {
  for (const ForeignName& foreign : kForeignNames) {
    if (foreign.name == name && options.find(std::string(foreign.ours))) return foreign.advice;
  }
  return "";
}

}  // namespace evener::cli
