#include "base/include_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "base/files.h"
#include "base/paths.h"

namespace evener::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::Pair;
using testing::SizeIs;
namespace fs = std::filesystem;

std::string only_complaint(const std::string& path, const std::string& text) {
  const auto violations = check_includes(path, text);
  return violations.size() == 1 ? violations.front().what : std::to_string(violations.size()) + " violations";
}

TEST(IncludeRule, HoldsInTheWholeTree) {
  int files = 0;
  for (const char* root : {"src", "include"}) {
    const fs::path folder = source_folder() / root;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const std::string extension = entry.path().extension();
      if (!entry.is_regular_file() || (extension != ".h" && extension != ".cpp" && extension != ".cu")) continue;
      ++files;
      const std::string path = fs::relative(entry.path(), folder).generic_string();
      for (const Violation& violation : check_includes(path, read_file(entry.path()))) {
        ADD_FAILURE() << root << "/" << path << ":" << violation.line << ": " << violation.what;
      }
    }
  }
  EXPECT_GT(files, 40);
}

/// The text of all code in src/, by its path there.
std::map<std::string, std::string> all_sources() {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(source_folder() / "src")) {
    const std::string extension = entry.path().extension();
    if (extension != ".h" && extension != ".cpp" && extension != ".cuh") continue;
    files[fs::relative(entry.path(), source_folder() / "src").generic_string()] = read_file(entry.path());
  }
  EXPECT_GT(files.size(), 40U);
  return files;
}

TEST(IncludeRule, FoldersFormNoCircle) {
  EXPECT_THAT(folder_circles(all_sources()), IsEmpty());
}

TEST(IncludeRule, CapabilitiesKnowFewOfEachOther) {
  const auto arrows = room_arrows(all_sources());
  const std::set<std::string> capabilities = {"detect",   "faces", "infer", "matmul",
                                              "quantize", "serve", "sweep", "train"};
  std::vector<std::string> between;
  for (const auto& [room, others] : arrows) {
    for (const std::string& other : others) {
      if (capabilities.contains(room) && capabilities.contains(other)) between.push_back(room + " > " + other);
    }
  }
  EXPECT_THAT(between, SizeIs(Le(12)));
  EXPECT_LE(drawn_arrows(arrows), 65U);
}

TEST(IncludeRule, DrawsArrowsThatNoLongerWayImplies) {
  EXPECT_EQ(drawn_arrows({{"train", {"infer", "base"}}, {"infer", {"data", "base"}}, {"data", {"base"}}}), 3U);
  EXPECT_THAT(room_arrows({{"infer/run/a.cpp", "#include \"infer/b.h\"\n#include \"data/c.h\"\n#include <map>\n"}}),
              ElementsAre(Pair("infer", ElementsAre("data"))));
}

TEST(IncludeRule, OnlyCommandsPrint) {
  for (const auto& [path, text] : all_sources()) EXPECT_THAT(printing_lines(path, text), IsEmpty()) << path;
  const char* printing = "int f() {\n  std::fputs(text, stdout);\n  fmt::print(\"{}\", 1);\n}\n";
  EXPECT_THAT(printing_lines("infer/inference.cpp", printing), ElementsAre(2, 3));
  EXPECT_THAT(printing_lines("infer/command.cpp", printing), IsEmpty());
  EXPECT_THAT(printing_lines("infer/inference.cpp", "text += fmt::format(\"{}\", 1);\n"), IsEmpty());
}

TEST(IncludeRule, FindsFoldersInACircle) {
  std::map<std::string, std::string> files = {{"train/plan/a.h", "#include \"train/b.h\"\n"},
                                              {"train/b.h", "#include \"measure/observer.h\"\n"},
                                              {"measure/observer.h", "#include \"base/error.h\"\n"},
                                              {"train/c.cpp", "#include \"train/choose/d.h\"\n"}};
  EXPECT_THAT(folder_circles(files), IsEmpty());
  files["train/choose/d.h"] = "#include <vector>\n#include \"train/plan/a.h\"\n";
  EXPECT_THAT(folder_circles(files), ElementsAre("train, train/choose, train/plan"));
  files.erase("train/choose/d.h");
  files["measure/observer.h"] = "#include \"train/b.h\"\n";
  EXPECT_THAT(folder_circles(files), ElementsAre("measure, train"));
}

TEST(IncludeRule, EveryFolderIsARoom) {
  for (const auto& entry : fs::directory_iterator(source_folder() / "src")) {
    if (entry.is_directory()) {
      EXPECT_THAT(known_rooms(), Contains(entry.path().filename().string()));
    }
  }
}

TEST(IncludeRule, AllowsWhatIsListed) {
  EXPECT_TRUE(check_includes("train/steps/train.cpp",
                             "#include \"train/steps/train.h\"\n#include \"base/phase.h\"\n#include <vector>\n"
                             "#include \"engine/engine.h\"\n#include <fmt/format.h>\n#include <sys/stat.h>\n")
                  .empty());
  EXPECT_TRUE(
      check_includes("app/main.cpp", "#include \"report/html.h\"\n#include \"sweep/figures/sweep.h\"\n").empty());
  EXPECT_TRUE(check_includes("app/command_line/parser.cpp", "#include <CLI/CLI.hpp>\n#include \"options/command.h\"\n")
                  .empty());
  EXPECT_TRUE(
      check_includes("engine/torch/engine.cpp", "#include <torch/torch.h>\n#include \"network/network.h\"\n").empty());
  EXPECT_TRUE(check_includes("base/a.cpp", "// #include \"app/b.h\"\n#ifdef X\n#endif\n").empty());
}

TEST(IncludeRule, FindsAWrongDirectionWithItsLine) {
  const auto violations = check_includes("base/clock.cpp", "#include <string>\n\n#include \"network/network.h\"\n");
  ASSERT_EQ(violations.size(), 1U);
  EXPECT_EQ(violations[0].line, 3);
  EXPECT_EQ(violations[0].what, "base may not include network ('network/network.h')");
  EXPECT_THAT(only_complaint("train/steps/train.cpp", "#include \"app/commands.h\"\n"),
              HasSubstr("train may not include app"));
  EXPECT_THAT(only_complaint("report/html.cpp", "  #  include \"train/steps/train.h\"\n"),
              HasSubstr("report may not include train"));
  EXPECT_THAT(only_complaint("engine/engine.h", "#include \"placement/plan.h\"\n"),
              HasSubstr("engine may not include"));
  EXPECT_THAT(only_complaint("infer/sinks.cpp", "#include \"detect/detector.h\"\n"),
              HasSubstr("infer may not include detect"));
  EXPECT_THAT(only_complaint("data/loader.h", "#include \"network/network.h\"\n"),
              HasSubstr("data may not include network"));
}

TEST(IncludeRule, KeepsVendorsInTheirFolders) {
  for (const char* line :
       {"#include <torch/torch.h>\n", "#include <ATen/ATen.h>\n", "#include <openvino/openvino.hpp>\n",
        "#include <mpi.h>\n", "#include <nccl.h>\n", "#include <cuda.h>\n", "#include <cuda_runtime.h>\n",
        "#include <CL/cl.h>\n", "#include <curl/curl.h>\n", "#include <openssl/evp.h>\n", "#include \"omp.h\"\n",
        "#include <onnx/onnx_pb.h>\n", "#include <google/protobuf/message.h>\n", "#include <hwloc.h>\n",
        "#include <microhttpd.h>\n", "#include <CLI/CLI.hpp>\n"}) {
    EXPECT_THAT(only_complaint("train/steps/train.cpp", line), HasSubstr("may only be included in")) << line;
  }
  EXPECT_THAT(only_complaint("options/command.h", "#include <CLI/CLI.hpp>\n"),
              HasSubstr("only be included in app/command_line/parser.cpp"));
  EXPECT_THAT(only_complaint("engine/torching/a.cpp", "#include <torch/torch.h>\n"), HasSubstr("only be included in"));
}

TEST(IncludeRule, KeepsHeadersCleanOfFmtAndConditions) {
  EXPECT_THAT(only_complaint("base/a.h", "#include <fmt/format.h>\n"), HasSubstr("may not stand in a header"));
  EXPECT_THAT(only_complaint("base/a.h", "#include <spdlog/spdlog.h>\n"), HasSubstr("may not stand in a header"));
  EXPECT_THAT(only_complaint("base/a.h", "#ifdef __linux__\n#endif\n"), HasSubstr("no #if"));
}

TEST(IncludeRule, InstalledHeadersStandAlone) {
  EXPECT_THAT(only_complaint("evener/jobs.h", "#include \"measure/run/observer.h\"\n"),
              HasSubstr("evener may not include measure"));
  EXPECT_THAT(only_complaint("train/steps/train.cpp", "#include \"evener/jobs.h\"\n"),
              HasSubstr("train may not include evener"));
}

TEST(IncludeRule, WantsFullNames) {
  EXPECT_THAT(only_complaint("base/a.cpp", "#include \"clock.h\"\n"),
              HasSubstr("does not start with the name of a room"));
  EXPECT_THAT(only_complaint("base/a.cpp", "#include \"../base/clock.h\"\n"), HasSubstr("does not start"));
  EXPECT_THAT(only_complaint("base/a.cpp", "#include <base/clock.h>\n"), HasSubstr("belongs in quotes"));
  EXPECT_THAT(only_complaint("misc/a.cpp", ""), HasSubstr("'misc' is not a room"));
}

}  // namespace
}  // namespace evener::test
