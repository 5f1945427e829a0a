// What every pass over networks hands on of a parameter.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "base/files.h"
#include "base/paths.h"
#include "network/passes/cut.h"
#include "network/passes/fold_batch_norm.h"
#include "network/passes/quantize.h"
#include "network/zoo.h"

namespace evener::network {
namespace {

/// Two convolutions, of which one has a batch-norm that is folded into it, a third one with a bias, and a head.
Network small() {
  Network network("small", {3, 8, 8});
  network.add("conv1", Conv2d{.out_channels = 4, .kernel = 3, .padding = 1});
  network.add("bn1", BatchNorm{});
  network.add("relu", Activation{});
  network.add("conv2", Conv2d{.out_channels = 4, .kernel = 3, .padding = 1, .bias = true});
  network.add("bn2", BatchNorm{});
  network.add("slopes", PRelu{});
  network.add("conv3", Conv2d{.out_channels = 5, .bias = true});
  network.add("average", GlobalAveragePool{});
  network.add("flatten", Flatten{});
  network.add("fc", Linear{.out_features = 6});
  return network;
}

/// No two parameters that learn do so alike, and some don't.
Network with_learning(Network network) {
  double rate = 0.5;
  std::vector<std::string> frozen;
  const std::vector<Parameter> parameters = network.parameters();
  for (const Parameter& parameter : parameters) {
    network.set_rates({parameter.name}, rate *= 0.75);
    if (parameter.name == "conv1.weight" || parameter.name == "bn2.bias") frozen.push_back(parameter.name);
  }
  network.freeze(frozen);
  for (const Parameter& parameter : network.parameters()) {
    // A new member doesn't compile here: give it a value above that differs from its default.
    const auto& [trained, is_rate] = static_cast<const Learning&>(parameter);
    EXPECT_NE(is_rate, Learning().rate) << parameter.name;
    EXPECT_EQ(trained, !parameter.buffer && std::ranges::find(frozen, parameter.name) == frozen.end());
  }
  return network;
}

std::map<std::string, Learning> learning(const std::vector<Network>& networks) {
  std::map<std::string, Learning> found;
  for (const Network& network : networks) {
    for (const Parameter& parameter : network.parameters())
      EXPECT_TRUE(found.emplace(parameter.name, parameter).second);
  }
  return found;
}

std::vector<Network> parts(const std::vector<NetworkStage>& stages) {
  std::vector<Network> networks;
  for (const NetworkStage& stage : stages) networks.push_back(stage.network);
  return networks;
}

TensorMap zeros(const Network& network) {
  TensorMap state;
  for (const Parameter& parameter : network.parameters()) {
    const auto count = static_cast<std::size_t>(element_count(parameter.shape));
    state.emplace(parameter.name, HostTensor::of_floats(parameter.shape, std::vector<float>(count)));
  }
  return state;
}

/// Every function of passes/ that makes networks, by name. What it makes of a network; and the parameters that aren't
/// called as they were, with what they were called.
struct Pass {
  std::function<std::vector<Network>(const Network&)> run;
  std::map<std::string, std::string> renamed = {};
};
std::multimap<std::string, Pass> passes() {
  const std::map<std::string, std::string> folded = {{"bn1.weight", "conv1.weight"}, {"bn2.weight", "conv2.weight"}};
  return {
      {"cut", {[](const Network& network) {
         return parts(cut(network, std::vector{4, 7}));
       }}},
      {"stretch", {[](const Network& network) { return std::vector{stretch(network, 2, 8).network}; }}},
      {"fold_batch_norm", {[](const Network& network) { return std::vector{fold_batch_norm(network)}; }, folded}},
      {"fold_batch_norm",
       {[](const Network& network) { return std::vector{fold_batch_norm(network, zeros(network)).network}; }, folded}},
      {"with_quantization", {[](const Network& network) {
         return std::vector{with_quantization(network, choose_quantization(network, 8, {}))};
       }}},
  };
}

TEST(Passes, EachHandsOnHowParametersLearn) {
  const Network network = with_learning(small());
  const std::map<std::string, Learning> before = learning({network});
  for (const auto& [name, pass] : passes()) {
    SCOPED_TRACE(name);
    std::size_t known = 0;
    for (const auto& [parameter, learns] : learning(pass.run(network))) {
      const auto renamed = pass.renamed.find(parameter);
      const auto found = before.find(renamed == pass.renamed.end() ? parameter : renamed->second);
      if (found == before.end()) {  // a scale, which only the quantised network has
        EXPECT_EQ(learns, Learning()) << parameter;
        continue;
      }
      EXPECT_EQ(learns, found->second) << parameter;
      ++known;
    }
    EXPECT_GE(known, 9U);
  }
}

TEST(Passes, AllAreAskedHowParametersLearn) {
  std::set<std::string> declared, asked;
  for (const auto& [name, pass] : passes()) asked.insert(name);
  for (const auto& entry : std::filesystem::directory_iterator(test::source_folder() / "src/network/passes")) {
    if (entry.path().extension() != ".h") continue;
    std::istringstream lines(read_file(entry.path()));
    for (std::string line; std::getline(lines, line);) {
      // What gives out a network in any form: "Network f(", "std::vector<NetworkStage> f(".
      const std::size_t type = line.find("Network"), bracket = line.find('('), space = line.find(' ');
      const bool is_function = type < space && space < bracket && bracket != std::string::npos && line[0] != ' ';
      if (is_function) declared.insert(line.substr(space + 1, bracket - space - 1));
    }
  }
  EXPECT_EQ(declared, asked) << "a pass that isn't listed in passes(), or isn't there any more";
}

}  // namespace
}  // namespace evener::network
