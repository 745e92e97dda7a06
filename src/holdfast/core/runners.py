"""The test runners: how each is called, and what it prints when it is done. The only list of them.

`calls` are the ways a runner is called, apart by `|`: a program, then words of its own; `-m` is Python's;
`..` stands for any words between. `without` are words with which it runs no tests.

`prints` are the lines by which a run is known, one to a line of the table. First what the line means:

    =  counts             +  the run passed        0  nothing was run
    ~  counts that matter only where they fail     -  the run failed
    ?  the run was stopped before its end

then its words, as `printed.words` makes them: small letters, no punctuation, `%` as `percent`, `3/5` as
`3 of 5`. `{counts}` is any number of counts, each a number and what it counts (`1 failed 2 passed`),
`{named}` the same the other way round (`failures 1 errors 0`); `{passed}`, `{failed}` … is one number;
`#` is a number, `#t` a time, `_` any word, and `…` whatever follows.

`adds`: one run may print several summaries (of crates, packages, modules), which are added up; otherwise
the last counts."""


class Runner:
    __slots__ = ("adds", "calls", "language", "name", "prints", "without")

    def __init__(
        self, name: str, language: str, calls: str, prints: str, without: str = "", adds: bool = False
    ) -> None:
        self.name = name
        self.language = language
        self.calls = calls
        self.prints = prints
        self.without = without
        self.adds = adds

    @property
    def is_one_line(self) -> bool:
        """Whether one line counts what passed and what failed."""
        return "{counts}" in self.prints


_UNITTEST = """
    = ran {all} test in …
    = ran {all} tests in …
    + ok
    + ok skipped # …
    + ok expected failures # …
    = failed {named}
    0 no tests ran
"""
_JEST = """
    = tests {counts}
    ~ test suites {counts}
    0 no tests found exiting with code …
    0 no tests found …
"""
_MOCHA = """
    = {passed} passing …
    = {failed} failing
    = {skipped} pending
    - error no test files found …
"""
_EXAMPLES = """
    = {counts}
"""
_SUREFIRE = """
    = tests run {all} failures {failed} errors {errors} skipped {skipped}
    ~ tests run {all} failures {failed} errors {errors} skipped {skipped} …
    + build success
    - build failure
    0 no tests to run
"""
_GRADLE = """
    = {all} tests completed {failed} failed …
    = {all} test completed {failed} failed …
    + build successful in …
    + build successful
    - build failed in …
    - build failed
    0 task _ no-source
"""
_TAP = """
    = tests {all}
    = pass {passed}
    = fail {failed}
    = skip {skipped}
    = skipped {skipped}
    ~ cancelled {failed}
    - not ok …
    0 1..0 …
"""

RUNNERS: tuple[Runner, ...] = (
    Runner(
        "pytest",
        "Python",
        "pytest|py.test|-m pytest|-m py.test",
        """
    = {counts} in #t …
    = {counts}
    0 no tests ran in …
    0 no tests collected …
    ? keyboardinterrupt
    - internalerror …
    """,
        "--collect-only --co --fixtures --fixtures-per-test --markers --setup-plan --setup-only "
        "--cache-show",
    ),
    Runner("unittest", "Python", "-m unittest|manage.py test|setup.py test|-m django test", _UNITTEST),
    Runner("nose2", "Python", "nose2|-m nose2|nosetests|-m nose", _UNITTEST, "--plugins"),
    Runner(
        "trial",
        "Python",
        "trial|-m twisted.trial",
        """
    = ran {all} tests in …
    = passed {named}
    = failed {named}
    """,
    ),
    Runner(
        "tox",
        "Python",
        "tox|-m tox|tox run|tox run-parallel|tox p|tox r",
        """
    + congratulations …
    - evaluation failed …
    - _ fail code # …
    - _ fail # …
    """,
        "-l -a --listenvs config list devenv --showconfig exec --notest -n quickstart",
        adds=True,
    ),
    Runner(
        "nox",
        "Python",
        "nox|-m nox",
        """
    - session _ failed
    - session _ failed …
    + session _ was successful
    + session _ was successful …
    """,
        "-l --list --list-sessions",
        adds=True,
    ),
    Runner(
        "behave",
        "Python",
        "behave|-m behave",
        """
    = {passed} scenarios passed {failed} failed {skipped} skipped …
    = {passed} scenario passed {failed} failed {skipped} skipped …
    ~ {passed} features passed {failed} failed {skipped} skipped …
    ~ {passed} feature passed {failed} failed {skipped} skipped …
    ~ {passed} steps passed {failed} failed …
    """,
    ),
    Runner(
        "robot",
        "Python",
        "robot|pabot|-m robot",
        """
    = {all} tests {passed} passed {failed} failed …
    = {all} test {passed} passed {failed} failed …
    """,
        "--dryrun",
    ),
    Runner(
        "jest",
        "JavaScript",
        "jest|react-scripts test|craco test|ng test",
        _JEST,
        "--listTests --init --clearCache --showConfig",
    ),
    Runner(
        "vitest",
        "JavaScript",
        "vitest",
        """
    = tests {counts}
    ~ test files {counts}
    ~ errors {errors} errors
    ~ errors {errors} error
    0 no test files found …
    0 tests no tests
    """,
        "list init --list",
    ),
    Runner("mocha", "JavaScript", "mocha|ts-mocha|electron-mocha|_mocha", _MOCHA, "--list-interfaces"),
    Runner(
        "ava",
        "JavaScript",
        "ava",
        """
    = {counts}
    = {errors} uncaught exception
    = {errors} uncaught exceptions
    = {errors} unhandled rejection
    = {errors} unhandled rejections
    0 couldn't find any files to test
    0 no tests found in …
    """,
        "reset-cache debug",
    ),
    Runner("node --test", "JavaScript", "node .. --test|node .. --experimental-test|tsx .. --test", _TAP),
    Runner(
        "tap",
        "JavaScript",
        "tap|tape|tap run|faucet",
        _TAP
        + """
    = asserts {counts}
    ~ suites {counts}
    = total {all} pass {passed} …
    = total {all} pass {passed} fail {failed} …
    = failed {failed} of {all} tests
    - failed # of # …
    0 no tests …
    """,
        "build dump-config list plugin versions",
    ),
    Runner(
        "playwright",
        "JavaScript",
        "playwright test|-m playwright test",
        """
    = {passed} passed …
    = {failed} failed
    = {skipped} flaky
    = {skipped} skipped
    = {skipped} did not run
    = {failed} interrupted
    = {errors} error was not a part of any test see above for details
    = {errors} errors were not a part of any test see above for details
    0 error no tests found …
    """,
        "--list",
    ),
    Runner(
        "cypress",
        "JavaScript",
        "cypress run|cypress run-ct",
        _MOCHA
        + """
    + all specs passed …
    - # of # failed # percent …
    """,
    ),
    Runner(
        "karma",
        "JavaScript",
        "karma start|karma run",
        """
    = total {passed} success
    = total {failed} failed
    = total {failed} failed {passed} success
    = executed {passed} of # success …
    - executed # of # # failed …
    - executed # of # failed …
    """,
        "init",
    ),
    Runner(
        "jasmine",
        "JavaScript",
        "jasmine",
        """
    = {counts}
    0 incomplete no specs found …
    - incomplete …
    """,
        "init examples",
    ),
    Runner(
        "web-test-runner",
        "JavaScript",
        "web-test-runner|wtr",
        """
    = chromium # of # test files {counts}
    + all tests passed …
    - finished running tests in # with # failed tests …
    """,
    ),
    Runner(
        "go test",
        "Go",
        "go test|ginkgo|richgo test|courtney|gocov test",
        """
    0 ok _ #t no tests to run
    0 ok _ #t coverage 0.0 percent of statements no tests to run
    0 ok _ cached no tests to run
    + ok _ #t …
    + ok _ cached …
    0 _ no test files
    - fail _ #t …
    - fail _ build failed …
    - fail _ setup failed …
    - fail
    = {passed} passed {failed} failed {skipped} pending …
    - fail {passed} passed {failed} failed …
    + success {passed} passed {failed} failed …
    """,
        "-list -c -n",
        adds=True,
    ),
    Runner(
        "gotestsum",
        "Go",
        "gotestsum|gotestdox",
        """
    = done {counts} in …
    """,
    ),
    Runner(
        "cargo test",
        "Rust",
        "cargo test|cargo t|cargo llvm-cov|cargo tarpaulin|cross test|cargo hack test",
        """
    = test result ok {counts} …
    = test result failed {counts} …
    - error could not compile …
    - error test failed …
    - error # target failed …
    - error # targets failed …
    """,
        "--no-run --list",
        adds=True,
    ),
    Runner(
        "cargo nextest",
        "Rust",
        "cargo nextest run|cargo nextest r|cargo-nextest nextest run|cargo llvm-cov nextest",
        """
    = summary #t {all} tests run {counts}
    = summary #t {all} test run {counts}
    = summary #t # of {all} tests run {counts}
    = summary #t # of {all} test run {counts}
    0 error no tests to run …
    - error could not compile …
    - error test run failed
    """,
        "--no-run list",
    ),
    Runner(
        "maven",
        "Java",
        "mvn .. test|mvn .. verify|mvn .. install|mvn .. package|mvn .. surefire:test"
        "|mvn .. integration-test|mvnw .. test|mvnw .. verify|mvnw .. install|mvnw .. package|mvnd .. test"
        "|mvnd .. verify"
        "|mvn .. deploy|mvn .. failsafe:integration-test|mvn .. failsafe:verify",
        _SUREFIRE,
        "-DskipTests -DskipTests=true -Dmaven.test.skip=true -Dmaven.test.skip",
        adds=True,
    ),
    Runner(
        "gradle",
        "Java",
        "gradle .. test|gradle .. check|gradle .. build|gradlew .. test|gradlew .. check|gradlew .. build",
        _GRADLE,
        "-xtest --dry-run -m",
        adds=True,
    ),
    Runner(
        "junit console",
        "Java",
        "junit-platform-console|org.junit.runner.JUnitCore|org.junit.platform.console.ConsoleLauncher",
        """
    = {passed} tests successful
    = {failed} tests failed
    + ok # test
    + ok # tests
    = tests run {all} failures {failed}
    0 # tests found
    """,
    ),
    Runner(
        "scalatest",
        "Scala",
        "sbt .. test|sbt .. testOnly|sbt .. testQuick|mill .. test|scala-cli test|scalatest",
        """
    = tests succeeded {passed} failed {failed} canceled {skipped} ignored # pending # …
    = passed total {all} failed {failed} errors {errors} passed {passed} …
    = failed total {all} failed {failed} errors {errors} passed {passed} …
    - # test failed
    - # tests failed
    + all tests passed
    0 no tests were executed
    0 no tests to run …
    """,
        adds=True,
    ),
    Runner(
        "rspec",
        "Ruby",
        "rspec|rake spec|rails spec",
        """
    = {counts}
    = {all} examples {failed} failures {errors} errors occurred outside of examples
    = {all} examples {failed} failures {errors} error occurred outside of examples
    """,
        "--dry-run --init",
    ),
    Runner(
        "minitest",
        "Ruby",
        "rails test|rake test|ruby -Itest|mtest|minitest|rails test:all|rails test:system",
        """
    = {all} runs # assertions {failed} failures {errors} errors {skipped} skips
    = {all} tests # assertions {failed} failures {errors} errors {skipped} skips
    = {all} tests # assertions {failed} failures {errors} errors # pendings # omissions …
    """,
    ),
    Runner(
        "cucumber",
        "Ruby",
        "cucumber|cucumber-js|behat",
        """
    = {all} scenarios {counts}
    = {all} scenario {counts}
    ~ # steps {counts}
    """,
        "--dry-run",
    ),
    Runner(
        "phpunit",
        "PHP",
        "phpunit|paratest|simple-phpunit|bin/phpunit|artisan test",
        """
    = ok {all} tests # assertions
    = ok {all} test # assertion
    = ok {all} test # assertions
    = ok {all} tests # assertion
    = tests {all} assertions # {named}
    + ok but …
    - failures
    - errors
    = tests {counts}
    0 no tests executed
    """,
        "--list-tests --list-suites --list-groups --generate-configuration",
    ),
    Runner(
        "pest",
        "PHP",
        "pest",
        """
    = tests {counts}
    0 no tests found
    0 info no tests found
    """,
        "--list-tests --init",
    ),
    Runner(
        "dotnet test",
        "C#",
        "dotnet test|dotnet vstest|vstest.console",
        """
    = passed failed {failed} passed {passed} skipped {skipped} total {all} …
    = failed failed {failed} passed {passed} skipped {skipped} total {all} …
    = bestanden fehler {failed} erfolgreich {passed} übersprungen {skipped} gesamt {all} …
    = fehler fehler {failed} erfolgreich {passed} übersprungen {skipped} gesamt {all} …
    = réussi échec {failed} réussite {passed} ignorée {skipped} total {all} …
    = échoué échec {failed} réussite {passed} ignorée {skipped} total {all} …
    = test summary total {all} failed {failed} succeeded {passed} skipped {skipped} …
    = total tests {all}
    = passed {passed}
    = failed {failed}
    = skipped {skipped}
    + test run successful
    - test run failed
    - build failed …
    0 no test is available in …
    0 no test matches the given testcase filter …
    """,
        "--list-tests -t",
        adds=True,
    ),
    Runner(
        "swift test",
        "Swift",
        "swift test|xcodebuild .. test|xcodebuild .. test-without-building|fastlane test|fastlane scan",
        """
    = executed {all} tests with {failed} failures …
    = executed {all} tests with {failed} failure …
    = executed {all} test with {failed} failures …
    = executed {all} test with {failed} failure …
    = executed {all} tests with {skipped} tests skipped and {failed} failures …
    = test run with {passed} tests passed …
    = test run with {passed} test passed …
    = test run with {passed} tests in # suites passed …
    = test run with {passed} test in # suite passed …
    = test run with {all} tests failed … with {failed} issues
    - test run with # tests failed …
    - test run with # test failed …
    - test run with # tests in # suites failed …
    + test succeeded
    - test failed
    - error fatalerror
    """,
        "list --list-tests build-for-testing",
    ),
    Runner(
        "ctest",
        "C++",
        "ctest|cmake .. --target test",
        """
    = # percent tests passed {failed} tests failed out of {all}
    0 no tests were found …
    """,
        "-N --show-only --print-labels",
    ),
    Runner(
        "meson test",
        "C++",
        "meson test|ninja test",
        """
    = ok {passed}
    = expected fail #
    = fail {failed}
    = unexpected pass {failed}
    = skipped {skipped}
    = timeout {errors}
    """,
        "--list",
    ),
    Runner(
        "googletest",
        "C++",
        "gtest|gtest-parallel",
        """
    = {all} tests from # test suites ran …
    = {all} test from # test suite ran …
    = {all} tests from # test suite ran …
    = {all} tests from # test cases ran …
    = passed {passed} tests
    = passed {passed} test
    = failed {failed} tests listed below
    = failed {failed} test listed below
    - # failed test
    - # failed tests
    """,
        "--gtest_list_tests",
    ),
    Runner(
        "catch2",
        "C++",
        "catch2",
        """
    + all tests passed # assertions in # test cases
    + all tests passed # assertions in # test case
    + all tests passed # assertion in # test case
    = test cases {all} {counts}
    ~ assertions # {counts}
    0 no tests ran
    0 no test cases matched …
    """,
        "--list-tests",
    ),
    Runner(
        "automake",
        "C",
        "make .. check",
        """
    = total {all}
    = pass {passed}
    = skip {skipped}
    = xfail #
    = fail {failed}
    = xpass {failed}
    = error {errors}
    """,
        "-n",
        adds=True,
    ),
    Runner(
        "bats",
        "Shell",
        "bats",
        """
    = {counts}
    = {counts} in #t …
    """
        + _TAP,
        "--count -c",
    ),
    Runner("shellspec", "Shell", "shellspec", _EXAMPLES, "--list --dry-run --init"),
    Runner(
        "prove",
        "Perl",
        "prove|carton exec prove|yath test",
        """
    + all tests successful
    = files # tests {all} …
    + result pass
    - result fail
    0 result notests
    - failed # of # test programs …
    """,
        "--dry -D",
    ),
    Runner(
        "mix test",
        "Elixir",
        "mix test|mix espec|mix test.watch|mix coveralls",
        """
    = {counts}
    = result {counts}
    0 there are no tests to run
    0 there are no stale tests
    """,
        adds=True,
    ),
    Runner(
        "rebar3",
        "Erlang",
        "rebar3 eunit|rebar3 ct|rebar3 proper|rebar3 .. eunit|rebar3 .. ct|ct_run",
        """
    + all # tests passed
    + all # test passed
    = failed {failed} skipped {skipped} passed {passed}
    = failed {failed} tests passed {passed} tests …
    = skipped # passed {passed} …
    = {counts}
    = {failed} failures …
    0 there were no tests to run
    """,
    ),
    Runner(
        "dart test",
        "Dart",
        "dart test|flutter test|pub run test|dart run test|flutter drive|very_good test",
        """
    + #t # all tests passed …
    + #t #  # all tests passed …
    - #t … some tests failed
    0 no tests ran
    0 #t # no tests ran
    0 no tests match …
    """,
    ),
    Runner(
        "deno test",
        "JavaScript",
        "deno test",
        """
    = ok {counts} …
    = failed {counts} …
    - error test failed
    0 error no test modules found
    """,
        "--no-run",
    ),
    Runner(
        "bun test",
        "JavaScript",
        "bun test",
        """
    = {passed} pass
    = {failed} fail
    = {skipped} skip
    = {errors} error
    = {errors} errors
    = ran # tests across # files …
    = ran # test across # file …
    0 error no tests found …
    0 no tests found …
    """,
    ),
    Runner(
        "busted",
        "Lua",
        "busted",
        """
    = {passed} successes {failed} failures {errors} errors {skipped} pending …
    = {passed} success {failed} failures {errors} errors {skipped} pending …
    = {passed} successes {failed} failure {errors} errors {skipped} pending …
    = {passed} success {failed} failure {errors} errors {skipped} pending …
    = {passed} successes {failed} failures {errors} error {skipped} pending …
    """,
        "--list",
    ),
    Runner(
        "cabal test",
        "Haskell",
        "cabal test|cabal v2-test|stack test|stack build --test|cabal new-test|runhaskell test",
        """
    = {counts}
    ~ # of # test suites # of # test cases passed
    + all # tests passed …
    - # out of # tests failed …
    + test suite _ pass
    - test suite _ fail
    - error cabal … tests failed …
    - test suite failure for package …
    """,
        adds=True,
    ),
    Runner(
        "zig test",
        "Zig",
        "zig test|zig build test",
        """
    + all # tests passed
    + all # test passed
    = {passed} passed {skipped} skipped {failed} failed
    = {passed} passed {failed} failed
    = build summary # of # steps succeeded {failed} failed {passed} of # tests passed {failed} failed
    = build summary # of # steps succeeded # failed {passed} of # tests passed {failed} failed
    - build summary # of # steps succeeded # failed …
    + build summary # of # steps succeeded # of # tests passed …
    - error the following test command failed …
    """,
    ),
    Runner(
        "bazel test",
        "Java",
        "bazel test|bazelisk test|buck2 test|pants test",
        """
    + executed # out of # test # test passes
    + executed # out of # tests # tests pass
    + executed # out of # tests # test passes
    - executed # out of # test # fails …
    - executed # out of # tests … fail …
    - executed # out of # test … fail …
    - executed # out of # tests … fails …
    """,
        "--nobuild --noanalyze",
    ),
    Runner(
        "testthat",
        "R",
        "Rscript .. test|R CMD check",
        """
    = fail {failed} warn # skip {skipped} pass {passed}
    """,
    ),
    Runner(
        "lein test",
        "Clojure",
        "lein test|clojure .. :test|clj .. :test|bb test|kaocha|bin/kaocha",
        """
    = ran {all} tests containing # assertions
    = {failed} failures {errors} errors
    = {all} tests # assertions {failed} failures
    """,
        adds=True,
    ),
    Runner("crystal spec", "Crystal", "crystal spec", "\n    = {counts}\n"),
    Runner(
        "forge test",
        "Solidity",
        "forge test",
        """
    = ran # test suites in … {passed} tests passed {failed} failed {skipped} skipped # total tests
    = ran # test suite in … {passed} tests passed {failed} failed {skipped} skipped # total tests
    ~ suite result failed {counts} …
    ~ suite result ok {counts} …
    ~ test result failed {counts} …
    """,
        "--list",
    ),
    Runner(  # what runs the tasks of a project: that one of them failed does not say that it was the tests
        "a task",
        "",
        "",
        """
    ? make … error #
    ? make … error # ignored
    ? npm err …
    ? npm error lifecycle script _ failed with error
    ? npm error code elifecycle
    ? elifecycle …
    ? err_pnpm_recursive_run_first_fail …
    ? error command failed with exit code # …
    ? error recipe _ failed …
    ? error task failed
    ? error run failed …
    ? task failed to run task …
    ? rake aborted
    """,
    ),
)
