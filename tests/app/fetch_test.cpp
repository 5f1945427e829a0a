// evener data fetch as a user runs it, with a mirror on this machine.
#include <gmock/gmock.h>

#include "base/real_data.h"
#include "data/fetch_helpers.h"
#include "support/in_process_helpers.h"

namespace evener::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class FetchCommand : public FetchTest {
 protected:
  ProgramResult fetch(const std::vector<std::string>& words, const std::string& mirror) const {
    std::vector<std::string> all = {"data", "fetch"};
    all.insert(all.end(), words.begin(), words.end());
    return run_in_process(all, options(mirror));
  }
  ProgramOptions options(const std::string& mirror) const {
    ProgramOptions options;
    options.environment = {{"EVENER_FETCH_FROM", mirror}, {"no_proxy", "127.0.0.1"}, {"NO_PROXY", "127.0.0.1"}};
    options.cwd = folder_.path();
    return options;
  }

  const TestFolder folder_;
};

TEST_F(FetchCommand, ListsWhatThereIs) {
  const ProgramResult result = fetch({"--list"}, "");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* text : {"NAME", "LICENCE", "mnist ", "11.6 MB", "cifar10 ", "resnet18-imagenet", "resnet34-imagenet",
                           "mobilenet_v2-imagenet"}) {
    EXPECT_THAT(result.out, HasSubstr(text));
  }
}

TEST_F(FetchCommand, AMistakeInANameOrTheMirrorIsWrongUsage) {
  EXPECT_THAT(fetch({"mnist", "cifar"}, "").err, HasSubstr("did you mean 'cifar10'?"));
  EXPECT_EQ(fetch({"cifar"}, "").exit_code, 2);
  EXPECT_THAT(fetch({}, "").err, HasSubstr("--list"));
  const ProgramResult mirror = fetch({"mnist"}, "/srv/mirror");
  EXPECT_EQ(mirror.exit_code, 2);
  EXPECT_THAT(mirror.err, AllOf(HasSubstr("EVENER_FETCH_FROM is '/srv/mirror'"), HasSubstr("https://")));
  EXPECT_EQ(file_count(folder_.path()), 0);
}

TEST_F(FetchCommand, AFailureNamesTheAddressAndWhereToPutTheFile) {
  const LoopbackServer server([](const Request&) { return Reply{http_reply(404, "", "")}; });
  const ProgramResult result = fetch({"mnist", "--out", "sets"}, server.url());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err,
              AllOf(HasSubstr(server.url("/mnist/train-images-idx3-ubyte.gz") + ": the server does not"),
                    HasSubstr("put it at 'sets/mnist/train-images-idx3-ubyte.gz'"),
                    HasSubstr("EVENER_FETCH_FROM=ADDRESS takes the files from a mirror"),
                    HasSubstr("ADDRESS/mnist/FILE"), HasSubstr("sets/mnist/t10k-labels-idx1-ubyte.gz  is  http")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "sets/mnist"));
}

TEST_F(FetchCommand, GoesOnAfterCtrlC) {
  constexpr std::size_t kBytes = 9'912'422;  // what the catalogue expects; its checksum can't be right here
  const std::string half(kBytes / 2, 'x');
  const LoopbackServer server([&](const Request&) {
    return Reply{http_reply(200, "ETag: \"1\"\r\nContent-Length: " + std::to_string(kBytes) + "\r\n", half),
                 Reply::Then::kHang};
  });
  RunningProgram program(program_path(), {"data", "fetch", "mnist"}, options(server.url()));
  const auto part = folder_ / "data/mnist/train-images-idx3-ubyte.gz.part";
  std::error_code missing;
  const auto arrived = [&] {
    return std::filesystem::exists(part, missing) && std::filesystem::file_size(part, missing) == half.size();
  };
  for (int i = 0; i < 40'000 && !arrived(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_TRUE(arrived()) << program.err();
  program.send(SIGINT);
  const ProgramResult stopped = program.finish();
  EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
  EXPECT_THAT(stopped.err, AllOf(HasSubstr("4.96 MB are kept"), HasSubstr("same command"), Not(HasSubstr("\r"))));

  const LoopbackServer rest([&](const Request& request) {
    return Reply{request.range == "bytes=" + std::to_string(half.size()) + "-"
                     ? http_reply(206,
                                  "Content-Range: bytes " + std::to_string(half.size()) + "-" +
                                      std::to_string(kBytes - 1) + "/" + std::to_string(kBytes) + "\r\n",
                                  std::string(kBytes - half.size(), 'y'))
                     : http_reply(404, "", "")};
  });
  const ProgramResult second = fetch({"mnist"}, rest.url());
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.err, AllOf(HasSubstr("going on after 4.96 MB"), HasSubstr("does not fit (its MD5 is"),
                                HasSubstr("status 404")));
}

TEST_F(FetchCommand, AsksOnlyForWhatIsMissing) {
  // Three files of MNIST lie beside the repository and are right; the server does not have the fourth.
  if (const std::string why = test::without_real_data({"mnist"}); !why.empty()) GTEST_SKIP() << why;
  const std::filesystem::path mnist = test::real_data("mnist");
  const LoopbackServer server([](const Request&) { return Reply{http_reply(404, "", "")}; });
  const auto set = folder_ / "data/mnist";
  std::filesystem::create_directories(set);
  for (const char* name : {"t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz", "train-labels-idx1-ubyte.gz"}) {
    std::filesystem::copy(mnist / name, set / name);
  }
  const ProgramResult missing = fetch({"mnist"}, server.url());
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_EQ(server.requests().size(), 1U);
  EXPECT_EQ(file_count(set), 3);
}

}  // namespace
}  // namespace evener::test
