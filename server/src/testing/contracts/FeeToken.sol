// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// A token that keeps 1 % of every transfer: the receiver gets 99 %.
contract FeeToken {
    string public constant name = "Fee token";
    string public constant symbol = "FEE";
    uint8 public constant decimals = 18;
    address public constant collector = address(0xfee);
    uint256 public totalSupply;
    mapping(address account => uint256) public balanceOf;

    event Transfer(address indexed from, address indexed to, uint256 value);

    function mint(address to, uint256 value) external {
        totalSupply += value;
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function transfer(address to, uint256 value) external returns (bool) {
        uint256 fee = value / 100;
        balanceOf[msg.sender] -= value;
        balanceOf[to] += value - fee;
        balanceOf[collector] += fee;
        emit Transfer(msg.sender, to, value - fee);
        emit Transfer(msg.sender, collector, fee);
        return true;
    }
}
