// evener serve as a user runs it: the program itself, over its sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/built_modules.h"
#include "base/files.h"
#include "base/http_client.h"
#include "support/in_process_helpers.h"
#include "support/infer_helpers.h"

namespace evener::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class ServeCommand : public Infer {
 protected:
  void SetUp() override {
    Infer::SetUp();
    if (!module_is_built("http")) GTEST_SKIP() << "the module for HTTP is not built";
  }

  std::vector<std::string> words(const std::string& model, const Words& more = {}) const {
    return joined({"serve", model, "--port", "0", "--name", "digits"}, more);
  }
};

TEST_F(ServeCommand, SaysOfPicturesWhatInferSays) {
  const std::string model = trained(), picture = pictures({"a.pgm"}) + "/a.pgm";
  RunningProgram program(program_path(), words(model, {"--on", "cpu/t1", "--batch", "4"}), options());
  const int port = port_told(program);
  ASSERT_NE(port, 0) << program.err();
  EXPECT_THAT(program.err(), testing::AllOf(HasSubstr("digits ("), HasSubstr("best.safetensors), UINT8 of 1x28x28; "),
                                            HasSubstr(" on cpu/t1, 1 stream, batches of 4 at most\n"),
                                            HasSubstr("seen are whole images, stretched to 28x28\n")));
  HttpClient client(port);
  const json facts = json::parse(client.get("/v2/models/digits").body);
  EXPECT_THAT(facts["platform"].get<std::string>(), testing::StartsWith("evener_"));
  EXPECT_EQ(facts["outputs"][0]["shape"], json({-1, 10}));
  const HttpAnswer answer =
      client.post("/v2/models/digits/infer", read_file(picture), {{"Content-Type", "image/x-portable-graymap"}});
  ASSERT_EQ(answer.status, 200) << answer.body;
  const auto scores = json::parse(answer.body)["outputs"][0]["data"].get<std::vector<float>>();
  ASSERT_EQ(scores.size(), 10U);
  const ProgramResult inferred = infer({model, picture, "--on", "cpu/t1", "--batch", "1", "--topk", "10",
                                        "--output-type", "logit", "--format", "jsonl"});
  std::size_t compared = 0;
  const json predictions = json::parse(inferred.out)["predictions"];
  for (const json& one : predictions) {
    const float told = one["logit"].get<float>();
    EXPECT_FLOAT_EQ(scores.at(one["index"].get<std::size_t>()), told);
    ++compared;
  }
  EXPECT_EQ(compared, 10U);
  program.send(SIGINT);
  EXPECT_EQ(program.finish().exit_code, 0);
}

TEST_F(ServeCommand, LosesNothingThatItAcceptedWhenItIsTerminated) {
  RunningProgram program(program_path(), words(trained(), {"--max-wait", "1"}), options());
  const int port = port_told(program);
  ASSERT_NE(port, 0) << program.err();
  const std::string body =
      json{
          {"inputs",
           {{{"name", "input"}, {"datatype", "UINT8"}, {"shape", {1, 1, 28, 28}}, {"data", std::vector<int>(784, 7)}}}}}
          .dump();
  std::atomic<int> answered = 0, lost = 0, refused = 0;
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < 16; ++i) {
      clients.emplace_back([&] {
        // A connection for each request: one that was made was accepted.
        while (true) {
          HttpClient client(port);
          if (!client.connected()) break;
          const HttpAnswer answer = client.post("/v2/models/digits/infer", body);
          if (answer.status == 0) ++lost;
          if (answer.status == 200) ++answered;
          if (answer.status > 200) ++refused;
        }
      });
    }
    while (answered < 100) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    program.send(SIGTERM);
  }
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(refused, 0);
  EXPECT_THAT(result.err, testing::ContainsRegex("ended after .*: " + std::to_string(answered) + " requests, " +
                                                 std::to_string(answered) +
                                                 " samples in [1-9][0-9]* batch(es)?, all that was accepted answered"));
}

TEST_F(ServeCommand, QuietSaysItsAddressAlone) {
  RunningProgram program(program_path(), {"serve", "mlp:784-32-10", "--random", "--port", "0", "--quiet"}, options());
  ASSERT_TRUE(program.wait_for("http://127.0.0.1:"));
  program.send(SIGINT);
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(lines_of(result.out).size(), 1U) << result.out;
}

TEST_F(ServeCommand, TellsTheEnergyOfASample) {
  RunningProgram program(program_path(),
                         {"serve", "mlp:784-32-10", "--random", "--port", "0", "--name", "digits", "--assume-power",
                          "cpu=50W,idle=20W", "--idle", "0.2"},
                         options());
  const int port = port_told(program);
  ASSERT_NE(port, 0) << program.err();
  EXPECT_THAT(program.err(), HasSubstr("measuring the idle power"));
  HttpClient client(port);
  const json input = {{"name", "input"}, {"datatype", "FP32"}, {"shape", {1, 784}}, {"data", std::vector<int>(784, 7)}};
  for (int second = 0; second < 3; ++second) {  // shorter windows are too short for energy
    client.post("/v2/models/digits/infer", json{{"inputs", {input}}}.dump());
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
  EXPECT_THAT(client.get("/metrics").body, HasSubstr("\nevener_energy_joules_total "));
  program.send(SIGINT);
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, testing::ContainsRegex("energy: .* J \\(estimated\\), .*J a sample"));
}

TEST_F(ServeCommand, TellsTheEnergyWithoutTheIdlePowerThatWasMeasuredBefore) {
  const std::string meter = file("watts");
  write_text(meter, "30");
  RunningProgram program(program_path(),
                         {"serve", "mlp:784-32-10", "--random", "--port", "0", "--name", "digits", "--meter",
                          "run:cat " + meter, "--idle", "1.5"},
                         options());
  ASSERT_NE(port_told(program), 0) << program.err();
  write_text(meter, "50");
  std::this_thread::sleep_for(std::chrono::milliseconds(4500));
  program.send(SIGINT);
  const std::string told = program.finish().err;
  const std::size_t all = told.find("energy: "), net = told.find("(measured); ");
  ASSERT_TRUE(all != std::string::npos && net != std::string::npos) << told;
  EXPECT_THAT(told, HasSubstr("J without the idle power"));
  const double joules = std::stod(told.substr(all + 8)), net_joules = std::stod(told.substr(net + 12));
  EXPECT_LE(net_joules, 0.41 * joules) << "50 W less 30 W";
  EXPECT_GE(net_joules, 0.1 * joules);
}

TEST_F(ServeCommand, RefusesWhatItCantServe) {
  const ProgramResult random = run_in_process({"serve", "mlp:784-32-10", "--port", "0"}, options());
  EXPECT_EQ(random.exit_code, 2);
  EXPECT_THAT(random.err, HasSubstr("has no weights here"));
  const ProgramResult name =
      run_in_process({"serve", "mlp:784-32-10", "--random", "--port", "0", "--name", "a/b"}, options());
  EXPECT_EQ(name.exit_code, 2);
  EXPECT_THAT(name.err, HasSubstr("'a/b' can't be the name"));
}

TEST_F(ServeCommand, TellsAnAddressThatCanBeAsked) {
  RunningProgram program(program_path(), {"serve", "mlp:784-32-10", "--random", "--port", "0", "--name", "my mlp:784"},
                         options());
  const int port = port_told(program);
  ASSERT_NE(port, 0) << program.err();
  EXPECT_THAT(program.err(), HasSubstr("/v2/models/my%20mlp:784; Ctrl-C"));
  EXPECT_THAT(program.err(), testing::AllOf(HasSubstr("my mlp:784 (random weights), FP32 of 784; "),
                                            HasSubstr("note: "), Not(HasSubstr("seen are"))));
  EXPECT_EQ(HttpClient(port).get("/v2/models/my%20mlp:784/ready").status, 200);
  program.send(SIGINT);
  EXPECT_EQ(program.finish().exit_code, 0);

  RunningProgram sixth(program_path(), {"serve", "mlp:784-32-10", "--random", "--port", "0", "--host", "::1"},
                       options());
  if (!sixth.wait_for("; Ctrl-C ends it")) {
    EXPECT_THAT(sixth.finish().err, HasSubstr("'::1'")) << "a machine without IPv6 says so";
    return;
  }
  EXPECT_THAT(sixth.err(), HasSubstr("serving http://[::1]:"));
  sixth.send(SIGINT);
  EXPECT_EQ(sixth.finish().exit_code, 0);
}

}  // namespace
}  // namespace evener::test
