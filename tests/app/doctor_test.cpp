#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/cpu.h"
#include "base/hybrid_machine.h"
#include "support/run_program.h"

namespace evener::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

json find(const json& report, const std::string& title, const std::string& name) {
  for (const json& section : report["sections"]) {
    if (section["title"] != title) continue;
    for (const json& finding : section["findings"]) {
      if (finding["name"] == name) return finding;
    }
  }
  ADD_FAILURE() << "no " << name << " under " << title << " in " << report.dump(2);
  return {};
}

// What doctor says where no module is; nothing of the build matters.
ProgramResult doctor_without_modules(const std::vector<std::string>& more) {
  const TestFolder empty;
  std::vector<std::string> words = {"doctor"};
  words.insert(words.end(), more.begin(), more.end());
  return run_program(words, {.environment = {{"EVENER_MODULE_DIR", empty.path().string()}}});
}

TEST(Doctor, TellsWhatIsMissingAndHowToGetIt) {
  const ProgramResult result = doctor_without_modules({});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, AllOf(HasSubstr("Devices\n"), HasSubstr("Modules\n"), HasSubstr("Sensors\n"),
                                HasSubstr("Storage\n"), HasSubstr("Placements (--on)\n"), HasSubstr("not built: "),
                                HasSubstr("-> run './evener setup'"), HasSubstr("Training does not work")));
  EXPECT_THAT(result.out, Not(HasSubstr("\033")));  // no colour in a file
}

TEST(Doctor, MeasuresThePeaksWhereAsked) {
  const auto titles = [](const ProgramResult& result) {
    std::vector<std::string> all;
    const json report = json::parse(result.out);
    for (const json& section : report["sections"]) all.push_back(section["title"]);
    return all;
  };
  const std::vector<std::string> usual = titles(doctor_without_modules({"--json", "-"}));
  std::vector<std::string> measured = titles(doctor_without_modules({"--json", "-", "--peaks"}));
  ASSERT_EQ(measured.size(), usual.size() + 1);
  measured.pop_back();
  EXPECT_EQ(measured, usual);
}

TEST(Doctor, TheJsonHoldsTheSame) {
  const ProgramResult result = doctor_without_modules({"--json", "-"});
  EXPECT_EQ(result.exit_code, 1);
  const json report = json::parse(result.out);
  EXPECT_EQ(report["kind"], "doctor");
  EXPECT_EQ(report["can_train_on_cpu"], false);
  EXPECT_EQ(find(report, "Devices", "cpu")["mark"], "ok");
  EXPECT_TRUE(find(report, "Devices", "cpu")["remedy"].is_null());
  EXPECT_EQ(find(report, "Modules", "torch")["mark"], "missing");
  EXPECT_EQ(find(report, "Placements (--on)", "cpu")["mark"], "missing");
  for (const json& section : report["sections"]) {
    for (const json& finding : section["findings"]) EXPECT_NE(finding["text"], "") << finding.dump();
  }
}

TEST(Doctor, TellsThatTheCoresAreOfSeveralKinds) {
  const std::vector<int>& allowed = cpu_topology().allowed;
  if (allowed.size() < 2) GTEST_SKIP() << "needs two CPUs";
  const TestFolder folder;
  Cores slow;
  for (std::size_t i = 1; i < allowed.size(); ++i) slow.push_back({allowed[i]});
  write_text(folder / "machine.xml", hybrid_xml({{allowed.front()}}, slow));
  const ProgramResult result =
      run_program({"doctor", "--json", "-"},
                  {.environment = {{"HWLOC_XMLFILE", (folder / "machine.xml").string()}, {"HWLOC_THISSYSTEM", "1"}}});
  const json finding = find(json::parse(result.out), "Devices", "kinds of cores");
  EXPECT_EQ(finding["mark"], "note");
  EXPECT_THAT(finding["text"].get<std::string>(), HasSubstr("1 core IntelCore (1 CPU, capacity 1024), "));
  EXPECT_THAT(finding["remedy"].get<std::string>(), HasSubstr("--on cpu/t1 may be faster"));
}

TEST(Doctor, ABrokenModuleIsNotLoadable) {
  const TestFolder folder;
  write_text(folder / "libevener_torch.so", "no library");
  const ProgramResult result =
      run_program({"doctor", "--json", "-"}, {.environment = {{"EVENER_MODULE_DIR", folder.path().string()}}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(find(json::parse(result.out), "Modules", "torch")["text"], HasSubstr("not loadable: "));
}

TEST(Doctor, TheExitCodeIsTheConclusion) {
  const ProgramResult result = run_program({"doctor", "--json", "-"});
  const json report = json::parse(result.out);
  const bool works = report["can_train_on_cpu"];
  EXPECT_EQ(result.exit_code, works ? 0 : 1);
  EXPECT_EQ(find(report, "Modules", "torch")["mark"] == "ok", works);
  EXPECT_EQ(find(report, "Placements (--on)", "cpu")["mark"] == "ok", works);
  EXPECT_EQ(find(report, "Placements (--on)", "cpu/t1")["mark"] == "ok", works);
}

TEST(Doctor, WritesTheJsonIntoAFileToo) {
  const TestFolder folder;
  const ProgramResult result = doctor_without_modules({"--json", (folder / "doctor.json").string()});
  EXPECT_THAT(result.out, HasSubstr("Devices\n"));
  std::ifstream in(folder / "doctor.json");
  EXPECT_EQ(json::parse(in)["kind"], "doctor");
  const ProgramResult failed = doctor_without_modules({"--json", (folder / "none/doctor.json").string()});
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_THAT(failed.err, HasSubstr("does not exist"));
}

}  // namespace
}  // namespace evener::test
