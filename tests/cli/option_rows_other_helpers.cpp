// Rows of the commands that read and write data, files and reports.
#include "cli/option_rows_helpers.h"

namespace evener::test {
namespace {

std::vector<OptionRow> about_data() {
  const char* two = "data info|data pack";
  const char* info = "data info";
  const char* labels = "data labels";
  const char* pack = "data pack";
  const char* synth = "data synth";
  return {{info, {"DATA", "synth:masks:90"}, "/location", "synth:masks:90"},
          {pack, {"SOURCE", "synth:masks:90"}, "/location", "synth:masks:90"},
          {two, {"--class", "a=x/**", "--class", "b=y"}, "/classes", {"a is x/**", "b is y"}},
          {two, {"--size", "20x10"}, "/width", 20},
          {two, {"--size", "20x10"}, "/height", 10},
          {two, {"--channels", "3"}, "/channels", 3},
          {two, {"--split", "70/20/10"}, "/split", {70.0, 20.0, 10.0}},
          {two, {"--decode", "fast"}, "/decode", 1},
          {two, {"--crop", "letterbox"}, "/crop", 1},
          {two, {"--seed", "7"}, "/seed", 7},
          {two, {"--strict", "true"}, "/strict", true},
          {two, {"--threads", "3"}, "/threads", 3},
          {info, {"--copies", "c.csv"}, "test:DataCommand.ListsImagesThatAreInTwoParts"},
          {info, {"--json", "-"}, "/run/out", "~\"per_class\""},
          {labels, {"DATA", "synth:masks:90"}, "/labels/data", "synth:masks:90"},
          {labels, {"--model", "resnet32"}, "/labels/model", "resnet32"},
          {labels, {"--weights", "w.pt"}, "/labels/weights", "w.pt"},
          {labels, {"--labels", "names.txt"}, "/labels/labels", "names.txt"},
          {labels, {"--class", "a=x/**", "--class", "b=y"}, "/labels/class", {"a=x/**", "b=y"}},
          {labels, {"--size", "14x14"}, "/run/out", "~at 14x14"},
          {labels, {"--normalize", "imagenet"}, "/labels/normalize", "imagenet"},
          {labels, {"--part", "train"}, "/labels/part", "train"},
          {labels, {"--part", "trian"}, "/error", "~train"},
          {labels, {"--folds", "3"}, "/run/out", "~over 3 folds"},
          {labels, {"--seed", "7"}, "/labels/seed", 7},
          {labels, {"--strict", "true"}, "/labels/strict", true},
          {labels, {"--on", "cpu/t1"}, "/labels/on", "cpu/t1"},
          {labels, {"--out", "{}/doubts"}, "/run/files", "~doubts/labels.html"},
          {labels, {"--overwrite", "true"}, "test:DataLabels.FindsDigitsInTheWrongFolderByTheirPixels"},
          {labels, {"--json", "-"}, "/run/out", "~\"judged_by\""},
          {labels, {"--quiet", "true"}, "test:DataLabels.TakesClassesByPatternsAndBadFilesStrictly"},
          {pack, {"--out", "{}/p.safetensors"}, "/run/files", "~p.safetensors"},
          {pack, {"--out", "p.zip"}, "/error", "~has to end in .safetensors"},
          {pack, {"--format", "voc"}, "test:DataCommand.WritesAndDescribesShapesWithTheirBoxes"},
          {pack, {"--format", "yodo"}, "/error", "~yolo"},
          {pack, {"--overwrite", "true"}, "/run/exit", 0, {"--out", "{}/old.safetensors"}},
          {synth, {"KIND", "masks"}, "/location", "synth:masks"},
          {synth, {"--out", "{}/drawn"}, "/run/files", "~drawn/0"},
          {synth, {"--count", "30"}, "/location", "synth:digits:30"},
          {synth, {"--size", "20x10"}, "/width", 20},
          {synth, {"--size", "20x10"}, "/height", 10},
          {synth, {"--format", "yolo"}, "/run/files", "~out/labels", {"KIND", "shapes"}},
          {synth, {"--seed", "7"}, "/seed", 7},
          {synth, {"--threads", "3"}, "/threads", 3},
          {"data fetch", {"NAME", "mnits"}, "/run/err", "~mnist"},
          {"data fetch", {"--out", "there"}, "test:FetchCommand.AsksOnlyForWhatIsMissing"},
          {"data fetch", {"--list", "true"}, "/run/out", "~LICENCE"}};
}

std::vector<OptionRow> about_networks() {
  const char* info = "info";
  const char* exports = "export";
  return {{info, {"MODEL", "resnet18"}, "/run/out", "~resnet18"},
          {info, {"--size", "20x10"}, "/run/out", "~1x10x20", {"--channels", "1"}},
          {info, {"--channels", "1"}, "/run/out", "~1x32x32"},
          {info, {"--classes", "7"}, "/run/out", "~7 outputs"},
          {info, {"--batch", "7"}, "/run/out", "~activations of 7 images"},
          {info, {"--json", "-"}, "/run/out", "~\"parameters\""},
          {exports, {"MODEL", "resnet32"}, "/model", "resnet32"},
          {exports, {"--onnx", "other.onnx"}, "/onnx", "other.onnx"},
          {exports, {"--onnx", "other.pt"}, "/error", "~has to end in .onnx"},
          {exports, {"--weights", "w.pt"}, "/weights", "w.pt"},
          {exports, {"--size", "20x10"}, "/width", 20},
          {exports, {"--size", "20x10"}, "/height", 10},
          {exports, {"--channels", "1"}, "/channels", 1},
          {exports, {"--classes", "7"}, "/classes", 7},
          {exports, {"--normalize", "data"}, "/error", "~needs training images"},
          {exports, {"--normalize", "imagenet"}, "test:ExportCommand.RandomWeightsAreSaidToBe"},
          {exports, {"--normalize-inside", "true"}, "test:ExportCommand.ARunBecomesAFileThatIsRun"},
          {exports, {"--uncalibrated", "true"}, "test:Calibrate.AnExportedFileSaysTheSame"},
          {exports, {"--overwrite", "true"}, "test:ExportCommand.AnOlderFileIsReplacedOnlyWhereAsked"}};
}

std::vector<OptionRow> about_runs() {
  const char* report = "report";
  const char* demo = "demo";
  return {{report, {"RUN_DIR", "{}/run"}, "/run/out", "~mlp:784-4-10"},
          {report, {"--html", "{}/page.html"}, "/run/files", "~page.html"},
          {report, {"--no-html", "true"}, "/run/err", ""},
          {report, {"--csv", "{}/r.csv"}, "/run/files", "~r.csv"},
          {report, {"--markdown", "true"}, "/run/out", "~| "},
          {report, {"--json", "{}/r.json"}, "/run/files", "~r.json"},
          {"share", {"RUN", "{}/nothing"}, "/run/err", "~nothing"},
          {"share", {"--html", "page.html"}, "test:Infer.SharePageTellsWhatIsRecognisedAndHowToUseIt"},
          {"compare", {"A", "{}/nothing"}, "/run/err", "~nothing"},
          {"compare", {"B", "{}/nothing"}, "/run/err", "~nothing"},
          {"compare", {"--json", "{}/c.json"}, "/run/files", "~c.json"},
          {"history", {"FOLDER", "{}/run"}, "/run/out", "~mlp:784-4-10"},
          {"history", {"--html", "{}/page.html"}, "/run/files", "~page.html"},
          {"history", {"--no-html", "true"}, "/run/err", ""},
          {"history", {"--json", "{}/h.json"}, "/run/files", "~h.json"},
          {"history", {"--since", "yesterday"}, "/run/err", "~2026-11-01"},
          {"history", {"--count-invalid", "true"}, "test:HistoryCommand.InvalidRunsCountWhereAskedFor"},
          {"history", {"--fail-on", "slower=5"}, "/run/err", "~slower=5%"},
          {"completion", {"SHELL", "fish"}, "/run/out", "~complete -c evener"},
          {"doctor", {"--json", "-"}, "/run/out", "~\"can_train_on_cpu\""},
          {"doctor", {"--peaks", "true"}, "test:Doctor.MeasuresThePeaksWhereAsked"},
          {demo, {"--out", "there"}, "test:DemoCommand.SaysWhatIsInItsWay"},
          {demo, {"--minutes", "0.2"}, "test:DemoCommand.ShowsEveryKindOfWayOnOnePage"},
          {demo, {"--seed", "7"}, "test:DemoCommand.PassesAStopOnToTheRunUnderWay"}};
}

}  // namespace

std::vector<OptionRow> option_rows_of_others() {
  std::vector<OptionRow> rows;
  for (auto part : {about_data, about_networks, about_runs}) {
    const std::vector<OptionRow> more = part();
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

}  // namespace evener::test
