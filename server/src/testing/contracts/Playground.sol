// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// Functions of every kind, for tests of calls, arguments, results and errors.
contract Playground {
    struct Point {
        int256 x;
        int256 y;
    }

    struct Order {
        uint256 id;
        address buyer;
        Point[] path;
        string note;
    }

    enum Level {
        Low,
        Middle,
        High
    }

    address public immutable owner = msg.sender;
    uint256 public counter;
    mapping(address account => uint256) public deposits;

    event Counted(address indexed by, uint256 value);

    error OwnableUnauthorizedAccount(address account);
    error TooMuch(uint256 wanted, uint256 available);
    error Refused(Order order, string reason);

    receive() external payable {}

    // Arguments and results

    function echoUint(uint256 value) external pure returns (uint256) {
        return value;
    }

    function echoInt(int256 value) external pure returns (int256) {
        return value;
    }

    function echoUint8(uint8 value) external pure returns (uint8) {
        return value;
    }

    function echoInt8(int8 value) external pure returns (int8) {
        return value;
    }

    function echoBool(bool value) external pure returns (bool) {
        return value;
    }

    function echoAddress(address value) external pure returns (address) {
        return value;
    }

    function echoString(string calldata value) external pure returns (string memory) {
        return value;
    }

    function echoBytes(bytes calldata value) external pure returns (bytes memory) {
        return value;
    }

    function echoBytes4(bytes4 value) external pure returns (bytes4) {
        return value;
    }

    function echoBytes32(bytes32 value) external pure returns (bytes32) {
        return value;
    }

    function echoLevel(Level value) external pure returns (Level) {
        return value;
    }

    function echoList(uint256[] calldata value) external pure returns (uint256[] memory) {
        return value;
    }

    function echoPair(uint256[2] calldata value) external pure returns (uint256[2] memory) {
        return value;
    }

    function echoNested(uint256[][] calldata value) external pure returns (uint256[][] memory) {
        return value;
    }

    function echoMatrix(int8[2][3] calldata value) external pure returns (int8[2][3] memory) {
        return value;
    }

    function echoStrings(string[] calldata value) external pure returns (string[] memory) {
        return value;
    }

    function echoPoint(Point calldata value) external pure returns (Point memory) {
        return value;
    }

    function echoOrder(Order calldata value) external pure returns (Order memory) {
        return value;
    }

    function echoOrders(Order[] calldata value) external pure returns (Order[] memory) {
        return value;
    }

    function nothing() external pure {}

    /// Several outputs without names.
    function several() external pure returns (uint256, address, bool) {
        return (type(uint256).max, address(0xbeef), true);
    }

    /// Several outputs, of which one has no name.
    function partlyNamed() external pure returns (uint256 first, string memory) {
        return (1, "two");
    }

    /// Several outputs, all named.
    function named() external pure returns (uint256 total, Point memory position, uint256[] memory parts) {
        parts = new uint256[](2);
        parts[0] = 1;
        parts[1] = type(uint256).max;
        return (2, Point(-1, 3), parts);
    }

    // Overloads: by the number of arguments, and by their types

    function sum(uint256 a) external pure returns (uint256) {
        return a;
    }

    function sum(uint256 a, uint256 b) external pure returns (uint256) {
        return a + b;
    }

    function kindOf(uint256) external pure returns (string memory) {
        return "uint256";
    }

    function kindOf(address) external pure returns (string memory) {
        return "address";
    }

    // Writes

    function count() external returns (uint256) {
        counter++;
        emit Counted(msg.sender, counter);
        return counter;
    }

    function setCounter(uint256 value) external {
        if (msg.sender != owner) revert OwnableUnauthorizedAccount(msg.sender);
        counter = value;
    }

    /// Spends about the gas that it is told to.
    function burnGas(uint256 gas) external {
        uint256 end = gasleft() - gas;
        while (gasleft() > end) counter++;
    }

    function deposit() external payable {
        deposits[msg.sender] += msg.value;
    }

    /// Sends native coin on: the receiver's balance grows without a transaction to it and without a log.
    function forward(address payable to) external payable {
        (bool isSent,) = to.call{value: msg.value}("");
        require(isSent, "not sent");
    }

    /// Leaves its whole balance to an address, whatever that is.
    function sendAll(address payable to) external {
        (bool isSent,) = to.call{value: address(this).balance}("");
        require(isSent, "not sent");
    }

    // Errors; the views fail likewise

    function failWithString(string calldata reason) external pure {
        require(false, reason);
    }

    function failWithError(uint256 wanted, uint256 available) external pure {
        revert TooMuch(wanted, available);
    }

    function failWithStruct(Order calldata order, string calldata reason) external pure {
        revert Refused(order, reason);
    }

    function failWithOwnable() external view {
        revert OwnableUnauthorizedAccount(msg.sender);
    }

    function failWithoutData() external pure {
        assembly {
            revert(0, 0)
        }
    }

    /// A custom error that no ABI knows: 0xdeadbeef and one word.
    function failWithUnknownError() external pure {
        assembly {
            mstore(0, 0xdeadbeef00000000000000000000000000000000000000000000000000000000)
            mstore(4, 7)
            revert(0, 36)
        }
    }

    function failWithAssert() external pure {
        assert(false);
    }

    function failWithOverflow(uint256 value) external pure returns (uint256) {
        return value + type(uint256).max;
    }

    function failWithDivision(uint256 by) external pure returns (uint256) {
        return 1 / by;
    }

    function failWithIndex(uint256 index) external pure returns (uint256) {
        uint256[] memory list = new uint256[](1);
        return list[index];
    }

    function failWithGas() external pure {
        while (true) {}
    }

    /// Fails when it is mined, though its simulation succeeded, if the counter has changed meanwhile.
    function countFrom(uint256 expected) external {
        require(counter == expected, "counter has changed");
        counter++;
    }
}
